/** Pages of lists whose rows hold what callers sent, which may be a MiB each. */
import type { Query } from "../../ports.ts";

/**
 * After so many bytes a page ends although more rows were asked for: they are held three times over, as rows, values and
 * text.
 */
const page_bytes_max = 4 * 1_048_576;

/** Some rows, and whether there were more of those asked for than fit into a page. */
export interface BoundedPage<Row> {
  readonly rows: Row[];
  readonly more: boolean;
}

/** What is read: `from` and `order` in SQL, and the SQL for how many bytes of a row count. */
export interface BoundedQuery {
  readonly columns: string;
  readonly bytes: string;
  /** From `from` to the last condition, without order. */
  readonly from: string;
  readonly order: string;
  /** At most so many rows, as SQL. */
  readonly limit: string;
}

/** Reads rows in their order until they come to `page_bytes_max`: one at least. */
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
