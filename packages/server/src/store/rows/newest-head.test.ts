/**
 * While a transaction holds an old snapshot, the newest head is found without reading older versions (decision 0025).
 */
import { createHash } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import type { Query } from "../../ports.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { decisionRows } from "../../testing/database/decision-rows.ts";
import { explain, explained, mostPages, type Plan, planOfQueued } from "../../testing/database/plan.ts";
import { testOrganization } from "../../testing/nodes/http-node.ts";
import { auditRow } from "../audit/audit.ts";
import { commitSettings, commitStatement } from "../commit/commit-call.ts";
import { callsOf, encode, parametersOf, record_types_query } from "../commit/commit-records.ts";
import { openClient } from "../database/connection.ts";
import { readDecidingHead } from "../intents/deciding-head.ts";
import { readOpenMode, readPresentedKeys } from "../keys/keys.ts";
import { readStateEpochs, withHead } from "../organizations/heads.ts";
import { listOrganizations } from "../organizations/organizations.ts";
import { readUsage } from "../organizations/usage.ts";
import { insertDelivery } from "../webhooks/deliveries.ts";
import { settle } from "../webhooks/delivery-queue.ts";

const { connection, db } = await testDatabase();
const ids = createIds(createClock());
const organization = await testOrganization(db);
const { org_id } = organization;
const { api_key } = await organization.key();
const at = "2026-11-21T00:00:00.000000Z";
const delivery_id = ids.next("delivery");
const delivery = {
  org_id,
  delivery_id,
  webhook_id: "wh_1",
  created_at: at,
  body: "{}",
  original_delivery_id: delivery_id,
};
const about = { event_id: ids.next("event"), event_type: "quota.exceeded", intent_id: null, escalation_id: null };
await db.system((query) => insertDelivery(query, { ...delivery, ...about }));
const versions = 5_000;
/** Old versions fill over a hundred pages; an index lookup takes about four. */
const pages_max = 12;

const session = await openClient(connection, "a commit");
await session.keep(commitSettings);
const types = (await session.query(record_types_query)).rows[0];
afterAll(() => session.end());

async function plansOf(run: (query: Query) => Promise<unknown>): Promise<Plan[]> {
  const plans: Plan[] = [];
  await db.system((query) => run(explained(query, plans)));
  return plans;
}

async function pagesOfCommit(): Promise<number> {
  const [call] = callsOf([encode(decisionRows(ids, org_id))], false);
  if (call === undefined) throw new Error("no call");
  const { text } = commitStatement();
  const { rows } = await session.query(`${explain} ${text}`, [...parametersOf(call, types)]);
  const { Plan } = rows[0]["QUERY PLAN"][0] as { readonly Plan: Plan };
  return Plan["Shared Hit Blocks"] + Plan["Shared Read Blocks"];
}

const ways: Record<string, () => Promise<Plan[]>> = {
  "a change under the lock": () => plansOf((query) => withHead(query, org_id, { raise: ["policy"], audit: [] })),
  "a settlement": async () => {
    const audit = auditRow(ids, { intent_id: null, at, actor: "system", type: "delivered", data: {} });
    const settlement = { delivery_id, attempts: 0, status: "delivered", outcomes: [], wait_ms: 0, audit } as const;
    return [await planOfQueued(db, (queue) => settle(queue, org_id, [settlement]))];
  },
  "what a decision rests on": () => plansOf((query) => readDecidingHead(query, org_id, 10)),
  "the epochs": () => plansOf((query) => readStateEpochs(query, org_id)),
  "the usage": () => plansOf((query) => readUsage(query, org_id, "2026-11")),
  "the organizations": () => plansOf(listOrganizations),
  "a key": () => plansOf((query) => query(readPresentedKeys.text, [[createHash("sha256").update(api_key).digest()]])),
  "open mode": () => plansOf((query) => query(readOpenMode.text, [org_id])),
};

test("the newest head is found without reading its older versions", async () => {
  const pages_before = await pagesOfCommit();
  await db.system(async (old) => {
    await old("set transaction isolation level repeatable read");
    await old("select from org_heads");
    await session.query(`do $$ begin
      for n in 1..${versions} loop
        perform set_config('synchronous_commit', 'off', true), set_config('app.org', '*', true);
        update org_heads set audit_seq = n where org_id = '${org_id}' and audit_seq >= n - 1;
        commit;
      end loop;
    end $$`);
    const took: Record<string, number> = {};
    for (const [way, plans] of Object.entries(ways))
      took[way] = Math.max(...(await plans()).map((plan) => mostPages("org_heads", plan)));
    expect((await pagesOfCommit()) - pages_before).toBeLessThan(pages_max);
    for (const [way, pages] of Object.entries(took)) {
      expect(pages, way).toBeGreaterThan(0);
      expect(pages, way).toBeLessThan(pages_max);
    }
    // Control: a lookup by organization alone reads all old versions.
    const [walked] = await plansOf((query) => query("select from org_heads where org_id = $1", [org_id]));
    expect(mostPages("org_heads", walked as Plan)).toBeGreaterThan(pages_max * 2);
  });
});
