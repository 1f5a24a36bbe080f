/** One page of a list; give `next_cursor` as `cursor` for the next one, null at the end. */
export type Page<K extends string, T> = Readonly<Record<K, readonly T[]>> & { readonly next_cursor: string | null };

/** Where in a list to read. Source: api.md §2 "Lists". */
export interface PageQuery {
  /** 1 to 200; the service's default is 50. */
  readonly limit?: number;
  readonly cursor?: string;
}

/**
 * All pages of a list, one after another, as they are asked for. `list` gets the place of each, to pass on beside its own
 * filters; what it throws ends the walk.
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
