/** What holds of figures, whatever happens while they are kept: they count each decision up to their seq once, and no other. */
import type { Db } from "../packages/server/src/ports.ts";
import { createState, isBehind, takeStep } from "../packages/server/src/store/figures/reconcile.ts";

/** Small, so that figures are behind in most steps of a world. */
const page = { seqs: 3, rows: 3 };

/** Counts a page of each organization. */
export async function countSome(db: Db, organizations: readonly string[]): Promise<void> {
  for (const org_id of organizations) {
    await db.system((query) => createState(query, org_id));
    await takeStep(db, org_id, page);
  }
}

/** Counts all that is left of each organization. */
export async function countAll(db: Db, organizations: readonly string[]): Promise<void> {
  for (const org_id of organizations) {
    await db.system((query) => createState(query, org_id));
    for (let left = true; left; ) {
      const progress = await takeStep(db, org_id, page);
      left = progress === null || isBehind(progress);
    }
  }
}

/** Returns what is wrong with the figures of these organizations. Empty: nothing. */
export async function wrongFigures(db: Db, organizations: readonly string[]): Promise<string[]> {
  const rows = await db.system((query) =>
    query<{ org_id: string; mode: string; verdict: string; counted: number; decided: number }>(
      `with counted as (
         select org_id, mode, item as verdict, sum(count)::integer as counted from figures
         where kind = 'verdict' and span = 'hour' and membrane_id = '' group by 1, 2, 3),
       decided as (
         select i.org_id, i.mode, i.verdict, count(*)::integer as decided
         from figures_state s join audit a on a.org_id = s.org_id and a.seq <= s.as_of and a.type = 'decided'
           join intents i on i.org_id = a.org_id and i.intent_id = a.intent_id
         group by 1, 2, 3)
       select org_id, mode, verdict, coalesce(counted, 0) as counted, coalesce(decided, 0) as decided
       from counted full join decided using (org_id, mode, verdict)
       where org_id = any ($1::text[]) and counted is distinct from decided`,
      [organizations],
    ),
  );
  return rows.map(
    ({ org_id, mode, verdict, counted, decided }) =>
      `${org_id}: the figures have ${counted} decisions ${mode} ${verdict}, and there are ${decided}`,
  );
}
