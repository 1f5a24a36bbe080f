/** SQL for reports of actions that were carried out without approval (type `contradicted`). */
import type { Query } from "../../ports.ts";
import type { FiguresWindow } from "../figures/read-figures.ts";

export async function countContradictions(
  query: Query,
  org_id: string,
  { from, to, membrane_id, modes }: FiguresWindow,
  count_max: number,
): Promise<number> {
  const [counted] = await query<{ count: number }>(
    `select count(*)::integer as count from (
       select from ledger where org_id = $1 and type = 'contradicted' and at >= $2::timestamptz and at < $3::timestamptz
         and ($4::text is null or coalesce(data, kept -> 'data') ->> 'membrane_id' = $4)
         and coalesce(data, kept -> 'data') ->> 'mode' = any ($5::text[])
       limit $6::integer) c`,
    [org_id, from, to, membrane_id, modes, count_max],
  );
  return counted?.count ?? 0;
}

export async function secondsSinceContradiction(query: Query, org_id: string): Promise<number | null> {
  const [newest] = await query<{ seconds: number }>(
    `select extract(epoch from clock_timestamp() - at)::float8 as seconds from ledger
     where org_id = $1 and type = 'contradicted' order by seq desc limit 1`,
    [org_id],
  );
  return newest?.seconds ?? null;
}
