/** One page of a list; give `next_cursor` as `cursor` for the next one, null at the end. */
export type Page<K extends string, T> = Readonly<Record<K, readonly T[]>> & { readonly next_cursor: string | null };

/** Where in a list to read. Source: api.md §2 "Lists". */
export interface PageQuery {
  /** 1 to 200; the service's default is 50. */
  readonly limit?: number;
  readonly cursor?: string;
}
