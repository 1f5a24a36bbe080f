import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { ledgerRows } from "../../testing/database/ledger-rows.ts";
import { type Plan, planOf } from "../../testing/database/plan.ts";
import { testOrganization } from "../../testing/nodes/http-node.ts";
import { readSettings } from "./backtests.ts";

const { db, analyze } = await testDatabase();
const changes = 400;
/** Numbers of changes after which a decision follows. */
const decided_after = [3, 100, 101];
const decided_before = 5_000;
let org_id: string;
let policy_epoch: number;

beforeAll(async () => {
  ({ org_id } = await testOrganization(db));
  [{ policy_epoch }] = (await db.query("select policy_epoch from org_heads where org_id = $1", [org_id])) as [
    { policy_epoch: number },
  ];
  await db.query("delete from ledger where org_id = $1", [org_id]);
  const decision = (version: number) => ({ data: { policy_set: { version } } });
  const change = (n: number) => ({ type: "policy_activated", data: { n } });
  await ledgerRows(db, org_id, [
    ...Array.from({ length: decided_before }, (_, n) => decision(n + 1)),
    ...Array.from({ length: changes }, (_, index) => index + 1).flatMap((n) =>
      decided_after.includes(n) ? [change(n), decision(-n)] : [change(n)],
    ),
  ]);
  await analyze("ledger");
});

/** Returns the rows that all steps of a plan returned or removed. */
function rowsOf(plan: Plan): number {
  const own = (plan["Actual Rows"] + (plan["Rows Removed by Filter"] ?? 0)) * plan["Actual Loops"];
  return (plan.Plans ?? []).reduce((sum, each) => sum + rowsOf(each), own);
}

test("each change has the epoch of the first decision after it, or the current one", async () => {
  const settings = await db.tenant(org_id, (query) => readSettings(query, org_id));
  expect(settings.policy_epoch).toBe(policy_epoch);
  expect(settings.changes.map(({ data }) => data.n)).toEqual(Array.from({ length: changes }, (_, n) => n + 1));
  const epochs = settings.changes.map(({ from_epoch }) => from_epoch);
  const of = (count: number, epoch: number): number[] => Array(count).fill(epoch);
  expect(epochs).toEqual([...of(3, -3), ...of(97, -100), ...of(1, -101), ...of(changes - 101, policy_epoch)]);
});

test("the rows between two changes are read once", async () => {
  const read = rowsOf(await planOf(db, org_id, (query) => readSettings(query, org_id)));
  expect(read).toBeGreaterThan(changes);
  expect(read).toBeLessThan(20 * changes);
});
