/** The guard of a rollout returns holds to shadow, if the plan allows it. Source: docs/decisions/0054. */
import { beforeAll, expect, test } from "vitest";
import type { Runtime } from "../../src/operations/runtime.ts";
import type { Mail } from "../../src/ports.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { testPerson } from "../../src/testing/people/person.ts";
import { listen, told } from "../../src/testing/people/told.ts";
import { rolloutOrganization, twoStages } from "../../src/testing/rollout.ts";

const database = await testDatabase();
const { db } = database;
const mails: Mail[] = [];
let node: { readonly url: string; readonly runtime: Runtime };
beforeAll(async () => {
  node = await serviceNode(database, { mailer: { delivers: true, send: async (mail) => void mails.push(mail) } });
});

const held = { pipeline_mode: "live", verdict: "escalate", outcome: null };
const released = { pipeline_mode: "shadow", verdict: "escalate", outcome: "approve", escalation_id: null };

/** An organization with a live membrane, in the last stage of its rollout. */
async function organization(plan: object = {}) {
  const guard = { holds_per_day_max: 10 };
  const org = await rolloutOrganization(db, node, { stages: twoStages, guard, returns_holds_itself: true, ...plan });
  await org.rule("held", { match: { verbs: ["ship", "pay"] }, when: "true", effect: "escalate" });
  await org.move("go-live");
  if (!("stages" in plan)) await org.act("advance");
  await org.watch();
  const [inside, outside] = [org.place(0.3, true), org.place(0.3, false)];
  const keys = { [inside]: await org.bound(inside), [outside]: await org.bound(outside) };
  return {
    ...{ ...org, inside, outside },
    does: (verb: string, agent: string, amount?: number) => org.submit(verb, agent, keys[agent] as string, amount),
    /** The guard finds too many holds. */
    async breach() {
      await org.addCounts({ decisions: 500, holds: 50 });
      await org.watch();
    },
  };
}

test("only the holds of agents outside of the earlier share go back, with a record, a mail and an event", async () => {
  const { org_id, membrane_id, breach, does, inside, outside, key, submit, rollout, records } = await organization();
  const { email } = await testPerson(db, org_id, { role: "admin" });
  await listen(db, org_id);
  expect(await does("ship", outside, 1)).toMatchObject(held);
  await breach();
  expect(await rollout()).toMatchObject({ status: "stopped", stage: 2, share: 1, holds_share: 0.3 });
  expect(await does("ship", outside, 2)).toMatchObject(released);
  expect(await does("ship", inside, 2)).toMatchObject(held);
  expect(await submit("ship", outside, key, 3)).toMatchObject(held);
  expect(await records("rollout_holds_returned")).toMatchObject([{ stage: 2, share: 1, holds_share: 0.3 }]);
  const sent = await told<{ event_type: string; data: object }>(db, org_id);
  expect(sent.filter(({ event_type }) => event_type.startsWith("rollout"))).toMatchObject([
    { event_type: "rollout.breached", data: { membrane_id, breaches: [{ limit: "holds_per_day_max" }] } },
    { event_type: "rollout.holds_returned", data: { membrane_id, stage: 2, share: 1, holds_share: 0.3 } },
  ]);
  const mailed = () => mails.filter(({ to, subject }) => to === email && subject === "A rollout was stopped");
  await expect.poll(() => mailed().length).toBe(1);
  expect(mailed()[0]?.text).toContain("only 30 % of the registered agents are held from now on");
});

test("blocks, rules that nobody may override, rules that block without a fact, and counted actions stay", async () => {
  const { breach, does, outside, rule } = await organization();
  const only = (verb: string) => ({ match: { verbs: [verb] }, when: "true", effect: "escalate" });
  await rule("never", { ...only("wipe"), override: "never" });
  await rule("unknown", {
    ...only("lend"),
    when: "facts.organizational.ssl_certificate_valid == false",
    effect: "block",
  });
  const gifts = { name: "gifts", key: ["agent.id"], value: "1", window: "24h" };
  await rule("counted", { ...only("give"), counters: [gifts] });
  await breach();
  expect(await does("ship", outside, 1)).toMatchObject(released);
  expect(await does("pay", outside)).toMatchObject({ pipeline_mode: "live", verdict: "block", outcome: "block" });
  for (const verb of ["wipe", "lend", "give"]) expect(await does(verb, outside), verb).toMatchObject(held);
});

test("nothing goes back without the setting", async () => {
  const { breach, does, outside, rollout } = await organization({ returns_holds_itself: false });
  await breach();
  expect(await rollout()).toMatchObject({ status: "stopped", holds_share: 1 });
  expect(await does("ship", outside, 1)).toMatchObject(held);
});

test("in the first stage the holds of all agents go back, and an advance by a person enforces them again", async () => {
  const { act, breach, does, inside, rollout } = await organization({
    stages: [{ ...twoStages[1], decisions_min: 1_000 }],
  });
  await breach();
  expect(await rollout()).toMatchObject({ stage: 1, share: 1, holds_share: 0 });
  expect(await does("ship", inside, 1)).toMatchObject(released);
  expect((await act("advance")).status).toBe(409);
  const { json } = await act("advance", { reason: "The rule is mended." });
  expect(json.rollout).toMatchObject({ status: "running", stage: 1, holds_share: 1, breaches: [] });
  expect(await does("ship", inside, 2)).toMatchObject(held);
});
