import type { Db, Query, QueueStatement } from "../../ports.ts";

/** One executed step of `explain (analyze, format json)`. */
export interface Plan {
  readonly "Rows Removed by Filter"?: number;
  /** Average for each execution. */
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Relation Name"?: string;
  readonly "Node Type": string;
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
  readonly Plans?: readonly Plan[];
}

export const explain = "explain (analyze, buffers, timing off, format json)";

/** Of the one statement that `read` sends. */
export async function planOf(
  db: Pick<Db, "tenant">,
  org_id: string,
  read: (query: Query) => Promise<unknown>,
): Promise<Plan> {
  const plans: Plan[] = [];
  await db.tenant(org_id, (query) => read(explained(query, plans)));
  return only(plans);
}

/** Adds each statement's plan to `plans`. */
export function explained(query: Query, plans: Plan[]): Query {
  return async (text, params) => {
    const [row] = await query<{ "QUERY PLAN": [{ Plan: Plan }] }>(`${explain} ${text}`, params);
    if (row !== undefined) plans.push(row["QUERY PLAN"][0].Plan);
    return query(text, params);
  };
}

/** Of the one queued statement that `run` sends. */
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

/** Returns the most rows that one step returned or removed in one execution. */
export function mostRows({ Plans = [], ...plan }: Plan): number {
  return Math.max(plan["Actual Rows"], plan["Rows Removed by Filter"] ?? 0, ...Plans.map(mostRows));
}

/** Returns the most pages of the table that one step read. */
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
