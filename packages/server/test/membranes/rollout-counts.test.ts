/** The counts that the guard of a rollout reads, on real rows. */
import type { StageCounts } from "@countersign/core";
import { beforeAll, expect, test } from "vitest";
import type { Runtime } from "../../src/operations/runtime.ts";
import { readPeopleSince } from "../../src/store/rollouts/rollouts.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { deadlineIn } from "../../src/testing/people/review.ts";
import { rolloutOrganization } from "../../src/testing/rollout.ts";

const database = await testDatabase();
const { db } = database;
let node: { readonly url: string; readonly runtime: Runtime };
beforeAll(async () => {
  node = await serviceNode(database);
});

interface Organization extends Awaited<ReturnType<typeof rolloutOrganization>> {
  /** Of another person than the agents' keys. */
  readonly boss: string;
}

/** A block that a person overrides. Returns when the block was decided. */
async function overridden(
  { ask, boss, submit }: Organization,
  agent: string,
  key: string,
  amount: number,
  wanted = 201,
) {
  const { intent_id, verdict, timestamp } = await submit("pay", agent, key, amount);
  expect(verdict).toBe("block");
  expect((await ask("POST", `/intents/${intent_id}/override`, { reason: "Seen it." }, boss)).status).toBe(wanted);
  return timestamp as string;
}

/** A hold for which the time runs out, or that a person decides. Returns when it was held. */
async function reviewed(
  { ask, boss, submit }: Organization,
  agent: string,
  key: string,
  times_out: boolean,
  amount: number,
) {
  const { intent_id, escalation_id, timestamp } = await submit("ship", agent, key, amount);
  if (times_out) await deadlineIn(db, [escalation_id], "0 s");
  else await ask("POST", `/escalations/${escalation_id}/decision`, { outcome: "block" }, boss);
  const { json } = await ask("GET", `/intents/${intent_id}/decision?wait=30`);
  expect(json.decision.escalation_status).toBe(times_out ? "timed_out" : "decided");
  return timestamp as string;
}

test("overrides, reviews and time-outs count for the live actions of the membrane since the stage began", async () => {
  const planned = await rolloutOrganization(db, node);
  const boss = (await planned.newKey({ role: "admin", person: "boss" })).api_key;
  const org = { ...planned, boss };
  const { ask, bound, key, membrane_id, move, newKey, org_id, place, rollout, rule, submit, watch } = org;
  await rule("held", { match: { verbs: ["ship"] }, when: "true", effect: "escalate" });
  await rule("two", {
    match: { verbs: ["pay"] },
    when: "params.amount > 9000",
    effect: "block",
    override: "two_person",
  });
  const [inside, outside] = [place(0.3, true), place(0.3, false)];
  const [inside_key, outside_key] = [await bound(inside), await bound(outside)];
  const setStatus = (status: string) => db.query("update rollouts set status = $2 where org_id = $1", [org_id, status]);
  // The worker of the node must not begin the stage before the test does.
  await setStatus("stopped");
  await move("go-live");

  // Before the stage begins to count.
  const early = await submit("pay", inside, inside_key, 201);
  await overridden(org, inside, inside_key, 202);
  await reviewed(org, inside, inside_key, true, 203);
  await setStatus("running");
  await watch();
  // An override in the stage, of a block from before.
  expect((await ask("POST", `/intents/${early.intent_id}/override`, { reason: "Late." }, boss)).status).toBe(201);

  const first = await overridden(org, inside, inside_key, 301);
  await overridden(org, "a-stranger", key, 302);
  await overridden(org, outside, key, 303);
  await overridden(org, inside, inside_key, 9_500, 202);
  await submit("pay", inside, inside_key, 304);
  await reviewed(org, inside, inside_key, true, 305);
  await reviewed(org, "a-stranger", key, true, 306);
  const last = await reviewed(org, outside, key, false, 307);
  expect(await submit("ship", inside, inside_key, 308)).toMatchObject({ status: "pending" });

  // Outside of the share, in another mode, and in another membrane.
  expect(await submit("ship", outside, outside_key, 309)).toMatchObject({ pipeline_mode: "shadow" });
  const { api_key: test_key } = await newKey({ environment: "test" });
  await overridden(org, inside, test_key, 310);
  await reviewed(org, inside, test_key, true, 311);
  const elsewhere = (await ask("POST", "/membranes", { name: "Elsewhere", packs: [] })).json.membrane.membrane_id;
  expect((await ask("POST", `/membranes/${elsewhere}/go-live`, {})).status).toBe(200);
  const intent = { agent: { id: inside }, action: { verb: "pay" }, payload: { content: { amount: 312 } } };
  const other = (await ask("POST", "/intents", { intent, membrane_id: elsewhere })).json.decision;
  expect((await ask("POST", `/intents/${other.intent_id}/override`, { reason: "Seen it." }, boss)).status).toBe(201);

  await watch();
  expect((await rollout()).figures).toMatchObject({
    decisions: 9,
    holds: { count: 4 },
    overridden: { count: 3, of: 5 },
    timed_out: { count: 2, of: 3 },
  });
  const since = (from: string): Promise<Partial<StageCounts>> =>
    db.tenant(org_id, (query) => readPeopleSince(query, org_id, membrane_id, from));
  const after = (at: string) => new Date(Date.parse(at) + 1).toISOString();
  expect(await since(first)).toMatchObject({ overridden: 3, reviews: 3, timed_out: 2 });
  expect(await since(after(first))).toMatchObject({ overridden: 2 });
  expect(await since(last)).toEqual({ overridden: 0, reviews: 1, timed_out: 0 });
  expect(await since(after(last))).toEqual({ overridden: 0, reviews: 0, timed_out: 0 });
});
