/** Legal holds, retention, and erasures that go on in the background. See docs/how-to/erasure.md. */
import { beforeAll, describe, expect, test } from "vitest";
import { createClock } from "../../src/edge/clock.ts";
import { verifyOrganization } from "../../src/operations/audit/verify-organization.ts";
import { keepRetention } from "../../src/operations/erasure/keep-retention.ts";
import { runErasures } from "../../src/operations/erasure/run-erasure.ts";
import type { Runtime } from "../../src/operations/runtime.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { heldBody, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
const { db } = database;
let url: string;
let runtime: Runtime;
/** The clock of the node, which a test moves so that a request has no time for its erasure. */
let ahead_us = 0;
beforeAll(async () => {
  const real = createClock();
  const clock = {
    now_us: () => {
      if (ahead_us > 0) ahead_us += 10_000_000;
      return real.now_us() + ahead_us;
    },
  };
  const node = await serviceNode(database, { clock });
  ({ url, runtime } = node);
});

const send = (method: string, path: string, key: string, body?: unknown) => call(url, method, path, { key, body });

const about = (target: string, on_behalf_of: string) => ({
  intent: {
    agent: { id: "bot", on_behalf_of },
    action: { type: "communication.email", verb: "send_email", target: { identifier: target } },
    payload: { content: { to: target } },
  },
});
const submit = async (org: Reviewed, target: string, person = "nobody") =>
  (await send("POST", "/v1/intents", org.agent, about(target, person))).json.intent_id as string;
const isErased = async (org: Reviewed, intent_id: string) =>
  (await send("GET", `/v1/intents/${intent_id}`, org.admin)).json.intent.erased !== undefined;
const organization = () => reviewedOrganization(db, url, { packs: [], default_verdict: "approve" });
/** Erases, and waits for the end. Returns the counts. */
const erase = async (org: Reviewed, path: string) => {
  const { erasure_id } = (await send("DELETE", path, org.admin)).json.erasure;
  await runErasures(runtime, () => false);
  return (await send("GET", `/v1/erasures/${erasure_id}`, org.admin)).json.erasure.counts;
};
const hold = async (org: Reviewed, body: object) =>
  (await send("POST", "/v1/legal-holds", org.admin, { reason: "case 1", ...body })).json.legal_hold.hold_id as string;

describe("a legal hold", () => {
  test("refuses the erasure of what it names, and says which hold it is", async () => {
    const org = await organization();
    const kept = await submit(org, "cus_1", "jane");
    const hold_id = await hold(org, { kind: "target", subject: "cus_1" });
    for (const path of ["/v1/subjects/target/cus_1", `/v1/intents/${kept}/content`]) {
      for (const query of ["", "?dry_run=true"]) {
        const { status, json } = await send("DELETE", path + query, org.admin);
        expect([status, json.error.code]).toEqual([409, "legal_hold"]);
        expect(json.error.details[0].message).toContain(hold_id);
      }
    }
    expect((await send("DELETE", `/v1/legal-holds/${hold_id}`, org.admin)).status).toBe(204);
    expect((await erase(org, `/v1/intents/${kept}/content`)).intents).toBe(1);
  });

  test("keeps its decisions from an erasure of another subject, which counts them", async () => {
    const org = await organization();
    const [kept, gone] = [await submit(org, "cus_1", "jane"), await submit(org, "cus_2", "jane")];
    await hold(org, { kind: "target", subject: "cus_1" });
    expect(await erase(org, "/v1/subjects/person/jane")).toMatchObject({ intents: 1, held: 1 });
    expect([await isErased(org, kept), await isErased(org, gone)]).toEqual([false, true]);
  });

  test("on everything names no subject, and any other hold names one", async () => {
    const org = await organization();
    for (const body of [{ kind: "all", subject: "x" }, { kind: "person" }])
      expect((await send("POST", "/v1/legal-holds", org.admin, { reason: "r", ...body })).status).toBe(400);
    const hold_id = await hold(org, { kind: "all" });
    expect((await send("DELETE", "/v1/subjects/person/jane", org.admin)).status).toBe(409);
    const { legal_holds } = (await send("GET", "/v1/legal-holds", org.admin)).json;
    expect(legal_holds).toMatchObject([{ hold_id, kind: "all", subject: null }]);
  });
});

describe("retention", () => {
  test("keeps all content until an admin sets days", async () => {
    const org = await organization();
    const old = await submit(org, "cus_1");
    await db.query("update ledger set at = at - interval '5 years' where org_id = $1", [org.org.org_id]);
    await keepRetention(later(2_000), () => false);
    expect(await isErased(org, old)).toBe(false);
    const days = { content_days: 1, failed_deliveries_days: null, facts_days: null };
    await send("PUT", "/v1/retention", org.admin, days);
    await keepRetention(later(2_000), () => false);
    expect(await isErased(org, old)).toBe(true);
  });

  test("erases old content page by page, but neither what is young, nor open reviews, nor what is on hold", async () => {
    const org = await organization();
    const { org_id } = org.org;
    const [old, held] = [await submit(org, "cus_1"), await submit(org, "cus_2")];
    await send("PATCH", `/v1/membranes/${org.membrane_id}`, org.admin, { packs: ["security"] });
    const open = (await send("POST", "/v1/intents", org.agent, heldBody)).json.intent_id as string;
    const young = await submit(org, "cus_3");
    await hold(org, { kind: "target", subject: "cus_2" });
    const days = { content_days: 30, failed_deliveries_days: null, facts_days: null };
    const answered = await send("PUT", "/v1/retention", org.admin, days);
    expect(answered.json).toMatchObject({ retention: days, due: { decisions: 0 } });
    await keepRetention(later(0), () => false);
    expect(await isErased(org, old)).toBe(false);

    await db.query("update ledger set at = at - interval '40 days' where org_id = $1 and intent_id <> $2", [
      org_id,
      young,
    ]);
    const { due } = (await send("PUT", "/v1/retention?dry_run=true", org.admin, days)).json;
    expect([due.decisions, due.held]).toEqual([0, 0]); // Ids of today are not old, whatever the time says.
    await keepRetention(later(40), () => false);
    const erased = await Promise.all([old, held, open, young].map((each) => isErased(org, each)));
    expect(erased).toEqual([true, false, false, false]);
  });
});

/** The runtime of a node with a clock that is some days ahead. */
const later = (days: number): Runtime => ({
  ...runtime,
  clock: { now_us: () => Date.now() * 1000 + days * 86_400_000_000 },
});

describe("an erasure", () => {
  test("that takes longer than its request goes on in the background, and then nobody knows of whom it was", async () => {
    const org = await organization();
    const intent_id = await submit(org, "cus_1", "jane");
    ahead_us = 1;
    const { status, json } = await send("DELETE", "/v1/subjects/person/jane", org.admin);
    ahead_us = 0;
    expect([status, json.erasure.status]).toEqual([202, "running"]);
    const { erasure_id } = json.erasure;
    await runErasures(runtime, () => false);
    const done = (await send("GET", `/v1/erasures/${erasure_id}`, org.admin)).json.erasure;
    expect(done).toMatchObject({ status: "done", progress: 1, counts: { intents: 1 } });
    expect(done.subject_salt).toBeUndefined();
    expect(await isErased(org, intent_id)).toBe(true);
    expect(await db.query("select subject_sealed from erasures where erasure_id = $1", [erasure_id])).toEqual([
      { subject_sealed: null },
    ]);
    expect((await send("GET", "/v1/erasures", org.admin)).json.erasures).toMatchObject([{ erasure_id }]);
  });

  test("that nobody recorded, and a changed column of an erased decision, are found by the verification", async () => {
    const org = await organization();
    const { org_id } = org.org;
    const [first, second] = [await submit(org, "cus_1", "jane"), await submit(org, "cus_2", "joe")];
    await erase(org, "/v1/subjects/person/jane");
    const verify = () => verifyOrganization(db, org_id, undefined, () => undefined);
    expect(await verify()).toMatchObject({ sound: true, erased: 1 });
    const set = (what: string, intent_id: string) =>
      db.query(`update ledger l set ${what} where org_id = $1 and intent_id = $2`, [org_id, intent_id]);
    await set("verdict = 'block'", first);
    expect(await verify()).toMatchObject({ sound: false, problem: "entry_changed" });
    await set("verdict = 'approve'", first);
    await set("leaf = ledger_leaf(l), intent = null, facts = null, data = null", second);
    expect(await verify()).toMatchObject({ sound: false, problem: "erased_in_secret" });
  });

  test("is for admins; a short value and an unknown kind are refused", async () => {
    const org = await organization();
    const statuses = await Promise.all([
      send("DELETE", "/v1/subjects/person/jane", org.operator),
      send("PUT", "/v1/retention", org.operator, { content_days: 1, failed_deliveries_days: null, facts_days: null }),
      send("DELETE", "/v1/subjects/value/abc", org.admin),
      send("DELETE", "/v1/subjects/planet/mars", org.admin),
      send("DELETE", "/v1/intents/int_unknown/content", org.admin),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([403, 403, 400, 404, 404]);
  });
});
