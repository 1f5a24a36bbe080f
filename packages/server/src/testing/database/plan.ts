/** What PostgreSQL did for a statement, for tests that count the rows and pages it took. */
import type { Db, Query, QueueStatement } from "../../ports.ts";

/** One step of a plan that was carried out, of `explain (analyze, format json)`. */
export interface Plan {
  readonly "Rows Removed by Filter"?: number;
  /** A time that the step was carried out, on average. */
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  /** The table of a step that reads one. */
  readonly "Relation Name"?: string;
  readonly "Node Type": string;
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
  readonly Plans?: readonly Plan[];
}

/** What goes before a statement whose plan is asked for. */
export const explain = "explain (analyze, buffers, timing off, format json)";

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
    const [row] = await query<{ "QUERY PLAN": [{ Plan: Plan }] }>(`${explain} ${text}`, params);
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
      const statement = { name: `explain-${name}`, text: `${explain} ${text}` };
      const [row] = await db.queued<{ "QUERY PLAN": [{ Plan: Plan }] }>(statement, params);
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

/** The most pages that a step took to read the table. */
export function mostPages(table: string, { Plans = [], ...plan }: Plan): number {
  const reads = plan["Relation Name"] === table && plan["Node Type"].includes("Scan");
  const pages = reads ? plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] : 0;
  return Math.max(pages, ...Plans.map((each) => mostPages(table, each)));
}

function only(plans: readonly Plan[]): Plan {
  const [plan, ...others] = plans;
  if (plan === undefined || others.length > 0) throw new Error(`it reads with ${plans.length} statements`);
  return plan;
}
