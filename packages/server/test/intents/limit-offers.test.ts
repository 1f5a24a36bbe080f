/** Source: docs/decisions/0014 and 0047. */
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { liveMembrane } from "../../src/testing/people/live-membrane.ts";

const database = await testDatabase();
const us_per_second = 1_000_000;
const hour_s = 3_600;
/** Whole seconds, so that the offered time is the time at which the first amount leaves. */
const start_s = Math.floor(Date.now() / 1000);
let now_us = start_s * us_per_second;
let url: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database, { clock: { now_us: () => now_us } }));
});

const at = (seconds: number): void => {
  now_us = (start_s + seconds) * us_per_second;
};
const pay = (amount: number) => ({ payload: { content: { amount } } });
const spent = { name: "spent", key: ["agent.id"], value: "params.amount", window: "24h" };

test("an agent gets the amount that fits and the time, and both are true", async () => {
  const own = await liveMembrane(database.db, url);
  await own.rule("daily", {
    counters: [spent],
    when: "count.spent.sum > 5000.0",
    effect: "block",
    on_unknown: "block",
  });
  const agent = await own.key("agent", "a1");
  const decide = async (amount: number) => (await own.submit(agent, undefined, pay(amount))).decision;

  at(0);
  expect((await decide(1_000)).verdict).toBe("approve");
  at(hour_s);
  expect((await decide(3_660)).verdict).toBe("approve");
  const later = {
    path: "now",
    op: "at_least",
    value: new Date((start_s + 24 * hour_s) * 1000).toISOString().replace(".000", ""),
  };
  const blocked = await decide(900);
  expect([blocked.verdict, blocked.would_approve_if]).toEqual([
    "block",
    [{ path: "params.amount", op: "at_most", value: 340 }, later],
  ]);
  expect((await decide(340)).verdict).toBe("approve");
  expect((await decide(900)).would_approve_if).toEqual([later]);
  at(24 * hour_s - 1);
  expect((await decide(900)).verdict).toBe("block");
  at(24 * hour_s);
  expect((await decide(900)).verdict).toBe("approve");
});

test("a changed recipient is decided with the recipient's own sum, and only sums of the action itself are recorded", async () => {
  const own = await liveMembrane(database.db, url);
  const paid = { ...spent, name: "paid", key: ["params.to"] };
  const rule = { counters: [paid], effect: "block", on_unknown: "block" };
  await own.rule("house-bank", { ...rule, when: "params.to != 'bank'" });
  await own.rule("most", { ...rule, when: "count.paid.sum > 1000.0" });
  const submit = (to: string, amount: number) =>
    own.submit(own.admin, undefined, { payload: { content: { to, amount } } });
  const first = await submit("other", 700);
  expect(first.decision.would_approve_if).toEqual([{ path: "params.to", op: "equals", value: "bank" }]);
  const [recorded] = await database.db.query<{ counts: { "count.paid": object } }>(
    "select intent -> 'counts' as counts from intents where intent_id = $1",
    [first.intent_id],
  );
  expect(Object.keys(recorded?.counts["count.paid"] ?? {})).toEqual(['["other"]']);
  expect((await submit("bank", 700)).decision.verdict).toBe("approve");
  expect((await submit("other", 700)).decision.would_approve_if).toBeNull();
});
