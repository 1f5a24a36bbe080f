/** One page of a list. Pass `next_cursor` as `cursor` to get the next; null at the end. */
export type Page<K extends string, T> = Readonly<Record<K, readonly T[]>> & { readonly next_cursor: string | null };

export interface PageQuery {
  /** 1 to 200. Default: 50. */
  readonly limit?: number;
  readonly cursor?: string;
}

/**
 * Yields all pages of a list, each when it is needed. Calls `list` with the position of each page. An error of `list`
 * ends the loop.
 */
export async function* pagesOf<P extends { readonly next_cursor: string | null }>(
  list: (place: Pick<PageQuery, "cursor">) => Promise<P>,
): AsyncGenerator<P, void, undefined> {
  for (let place: Pick<PageQuery, "cursor"> | null = {}; place !== null; ) {
    const page: P = await list(place);
    yield page;
    place = page.next_cursor === null ? null : { cursor: page.next_cursor };
  }
}
