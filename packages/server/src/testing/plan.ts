/** What PostgreSQL did for a read, for tests that count the rows it took. */
import type { Db, Query, QueueStatement } from "../ports.ts";

/** One step of a plan that was carried out, of `explain (analyze, format json)`. */
export interface Plan {
  readonly "Rows Removed by Filter"?: number;
  /** A time that the step was carried out, on average. */
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly Plans?: readonly Plan[];
}

/** The plan of the one statement with which `read` reads something of an organization. */
export async function planOf(
  db: Pick<Db, "tenant">,
  org_id: string,
  read: (query: Query) => Promise<unknown>,
): Promise<Plan> {
  const plans: Plan[] = [];
  await db.tenant(org_id, (query) => read(explained(query, plans)));
  return only(plans);
}

/** The same query, but that each statement's plan is added to `plans` first. */
export function explained(query: Query, plans: Plan[]): Query {
  return async (text, params) => {
    const explain = `explain (analyze, timing off, format json) ${text}`;
    const [row] = await query<{ "QUERY PLAN": [{ Plan: Plan }] }>(explain, params);
    if (row !== undefined) plans.push(row["QUERY PLAN"][0].Plan);
    return query(text, params);
  };
}

/** The plan of the one statement that `run` sends as one of the queue, where it is carried out. */
export async function planOfQueued(
  db: Pick<Db, "queued">,
  run: (db: Pick<Db, "queued">) => Promise<unknown>,
): Promise<Plan> {
  const plans: Plan[] = [];
  await run({
    async queued<Row extends object>({ name, text }: QueueStatement, params: readonly unknown[]) {
      const explain = { name: `explain-${name}`, text: `explain (analyze, timing off, format json) ${text}` };
      const [row] = await db.queued<{ "QUERY PLAN": [{ Plan: Plan }] }>(explain, params);
      if (row !== undefined) plans.push(row["QUERY PLAN"][0].Plan);
      return [] as Row[];
    },
  });
  return only(plans);
}

/** The most rows that a step gave or left out, of one time that it was carried out. */
export function mostRows({ Plans = [], ...plan }: Plan): number {
  return Math.max(plan["Actual Rows"], plan["Rows Removed by Filter"] ?? 0, ...Plans.map(mostRows));
}

function only(plans: readonly Plan[]): Plan {
  const [plan, ...others] = plans;
  if (plan === undefined || others.length > 0) throw new Error(`it reads with ${plans.length} statements`);
  return plan;
}
