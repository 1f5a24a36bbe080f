import type { Query } from "../../ports.ts";

/** Maximum bytes of a page. Memory holds its rows three times: rows, values and text. */
const page_bytes_max = 4 * 1_048_576;

/** `more`: the page ended early because of its bytes. */
export interface BoundedPage<Row> {
  readonly rows: Row[];
  readonly more: boolean;
}

/** A query in parts of SQL. `bytes`: the counted bytes of a row. */
export interface BoundedQuery {
  readonly columns: string;
  readonly bytes: string;
  /** From `from` to the last condition, without order. */
  readonly from: string;
  readonly order: string;
  readonly limit: string;
}

/** Reads rows up to the maximum of bytes, but at least one row. */
export async function readBounded<Row>(
  query: Query,
  { columns, bytes, from, order, limit }: BoundedQuery,
  params: readonly unknown[],
): Promise<BoundedPage<Row>> {
  const found = await query<Row & { found_rows: number }>(
    `with found as (select ${columns}, ${bytes} as bytes ${from} order by ${order} limit ${limit}),
     weighed as (select *, sum(bytes) over (order by ${order}) - bytes as bytes_before from found)
     select *, (select count(*)::integer from found) as found_rows from weighed
     where bytes_before < ${page_bytes_max} order by ${order}`,
    params,
  );
  const rows = found.map(
    ({ found_rows: _, bytes: __, bytes_before: ___, ...row }: Record<string, unknown>) => row as Row,
  );
  return { rows, more: found.length < (found[0]?.found_rows ?? 0) };
}
