import { beforeAll, describe, expect, test } from "vitest";
import type { Runtime } from "../../src/operations/runtime.ts";
import type { Mail } from "../../src/ports.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { testPerson } from "../../src/testing/people/person.ts";
import { listen, told } from "../../src/testing/people/told.ts";
import { rolloutOrganization, twoStages as two } from "../../src/testing/rollout.ts";

const database = await testDatabase();
const { db } = database;
const mails: Mail[] = [];
let node: { readonly url: string; readonly runtime: Runtime };
beforeAll(async () => {
  node = await serviceNode(database, { mailer: { delivers: true, send: async (mail) => void mails.push(mail) } });
});

const organization = (plan?: object) => rolloutOrganization(db, node, plan);
/** Events about rollouts, without the decisions. */
const events = async (org_id: string) =>
  (await told<{ event_type: string; data: object }>(db, org_id)).filter((each) => /^rollout/.test(each.event_type));

/** An admin's address. */
const admin = async (org_id: string) => (await testPerson(db, org_id, { role: "admin" })).email;

describe("a rollout", () => {
  test("keeps registered agents outside of its share in shadow, on keys bound to them alone", async () => {
    const { bound, place, move, pay, key, act, newKey } = await organization();
    await move("go-live");
    const [inside, outside] = [place(0.3, true), place(0.3, false)];
    const [shadowed, enforced] = [
      { pipeline_mode: "shadow", outcome: "approve" },
      { pipeline_mode: "live", outcome: "block" },
    ];
    const own = await bound(outside);
    expect(await pay(outside.toUpperCase(), own)).toMatchObject({ verdict: "block", ...shadowed });
    const scoped = (await newKey({ role: "agent", scope: "agent", agent_id: outside })).api_key;
    expect(await pay(outside, scoped)).toMatchObject(shadowed);
    expect(await pay(inside, await bound(inside))).toMatchObject(enforced);
    expect(await pay(outside, await bound(inside, outside))).toMatchObject(enforced);
    expect(await pay(outside, key)).toMatchObject(enforced);
    expect(await pay("stranger", await bound("stranger"))).toMatchObject(enforced);
    expect((await act("advance")).json.rollout).toMatchObject({ stage: 2, share: 1, status: "running" });
    expect(await pay(outside, own)).toMatchObject(enforced);
  });

  test("counts an agent from its registration on", async () => {
    const { ask, bound, move, pay } = await organization({ stages: [{ ...two[0], share: 1e-9 }] });
    await move("go-live");
    const own = await bound("late");
    expect(await pay("late", own)).toMatchObject({ pipeline_mode: "live" });
    await ask("PUT", "/agents/late", {});
    expect(await pay("late", own)).toMatchObject({ pipeline_mode: "shadow" });
  });

  test("is planned and removed in shadow only, and its shares must grow", async () => {
    const { plan, remove, move, rollout } = await organization();
    expect(await rollout()).toMatchObject({ status: "waiting", stage: 1, agents: { registered: 12 } });
    const falling = await plan({ stages: [...two].reverse() });
    expect([falling.status, falling.json.error.details[0].path]).toEqual([400, "/stages/1/share"]);
    await move("go-live");
    expect([(await plan({})).status, (await remove()).status]).toEqual([409, 409]);
    await move("return-to-shadow");
    expect([(await remove()).status, await rollout()]).toEqual([204, null]);
  });

  test("advances by itself when its stages are complete, until it has arrived", async () => {
    const { move, watch, rollout, records, act } = await organization({ stages: two, advances_itself: true });
    expect((await act("advance")).status).toBe(409);
    await move("go-live");
    for (let look = 0; look < 4; look += 1) await watch();
    expect(await rollout()).toMatchObject({ status: "arrived", share: 1 });
    expect(await records("rollout_advanced")).toMatchObject([{ arrived: true }, { arrived: false, stage: 2 }]);
    expect((await act("advance")).status).toBe(409);
  });

  test("is stopped by its guard, with a mail to the admins and an event, and goes on only for a reason", async () => {
    const { org_id, membrane_id, move, watch, rollout, addCounts, act, records } = await organization({
      stages: two,
      advances_itself: true,
      guard: { holds_per_day_max: 10 },
    });
    const email = await admin(org_id);
    await listen(db, org_id);
    await move("go-live");
    await watch();
    await addCounts({ decisions: 500, holds: 50 });
    await watch();
    const stopped = await rollout();
    expect(stopped).toMatchObject({ status: "stopped", stage: 1, breaches: [{ limit: "holds_per_day_max" }] });
    expect(stopped.figures.holds).toMatchObject({ count: 50, towards_stop: 1 });
    expect(stopped.holds_share).toBe(stopped.share);
    expect(await records("rollout_stopped")).toMatchObject([{ breaches: [{ limit: "holds_per_day_max" }] }]);
    expect(await records("rollout_holds_returned")).toEqual([]);
    const said = "50 actions were held on 1 day. At most 10 a day are allowed.";
    expect(await events(org_id)).toMatchObject([
      {
        event_type: "rollout.breached",
        data: { membrane_id, membrane: "default", stage: 1, share: 0.3, breaches: [{ message: said }] },
      },
    ]);
    const mailed = () => mails.filter(({ to }) => to === email);
    await expect.poll(() => mailed().map(({ subject }) => subject)).toEqual(["A rollout was stopped"]);
    expect(mailed()[0]?.text).toContain("the membrane “default”. It stays at 30 % of the registered agents.");
    expect(mailed()[0]?.text).toContain(said);
    expect((await act("advance")).status).toBe(409);
    const { json } = await act("advance", { reason: "A load test." });
    expect(json.rollout).toMatchObject({ status: "running", stage: 2, breaches: [] });
  });

  test("is stopped for what the guard saw in all stages since a person let it go on", async () => {
    const { move, watch, rollout, addCounts, act } = await organization({
      stages: two,
      guard: { holds_per_day_max: 10 },
    });
    await move("go-live");
    await watch();
    await addCounts({ decisions: 100, holds: 15 });
    await watch();
    expect((await act("advance")).json.rollout).toMatchObject({ stage: 2, status: "running" });
    await watch();
    await addCounts({ decisions: 100, holds: 15 }, { decisions: 200, holds: 30 });
    await watch();
    expect(await rollout()).toMatchObject({
      status: "stopped",
      figures: { holds: { count: 15, towards_stop: 1 } },
      breaches: [{ message: "30 actions were held on 1 day. At most 10 a day are allowed." }],
    });
    await act("return", { stage: 1, reason: "Too many." });
    await act("advance", { reason: "Mended." });
    for (let look = 0; look < 2; look += 1) await watch();
    expect(await rollout()).toMatchObject({ status: "running", figures: { holds: { towards_stop: 0 } } });
  });

  test("is stopped by a person, and returns to an earlier stage when two people ask", async () => {
    const { ask, move, act, rollout, newKey, records } = await organization();
    const { api_key: second } = await newKey({ role: "admin", person: "second" });
    await move("go-live");
    expect((await ask("PATCH", "/organization", { go_live_needs_second_person: true })).status).toBe(200);
    expect((await act("return", { stage: 1, reason: "Too early." })).status).toBe(409);
    await act("advance");
    expect((await act("stop", { reason: "Holiday." })).json.rollout.status).toBe("stopped");
    expect((await act("stop", { reason: "Again." })).status).toBe(409);
    await act("return", { stage: 1, reason: "Wrong blocks." });
    expect(await rollout()).toMatchObject({ stage: 2, requested_return: { stage: 1, reason: "Wrong blocks." } });
    expect((await act("return", { stage: 1, reason: "Wrong blocks." })).status).toBe(409);
    await act("return", { stage: 1, reason: "Indeed." }, second);
    expect(await rollout()).toMatchObject({ stage: 1, share: 0.3, status: "stopped", requested_return: null });
    expect(await records("rollout_returned")).toMatchObject([{ stage: 1, reason: "Indeed." }]);
  });
});
