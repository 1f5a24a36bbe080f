import { beforeAll, expect, test, vi } from "vitest";
import type { Mail } from "../../ports.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { call } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";
import { testPerson } from "../../testing/people/person.ts";
import { activatePayPolicy, heldBody, type Reviewed, reviewedOrganization } from "../../testing/people/review.ts";

const database = await testDatabase();
const mails: Mail[] = [];
let url: string;
let org: Reviewed;
beforeAll(async () => {
  ({ url } = await serviceNode(database, { mailer: { delivers: true, send: async (mail) => void mails.push(mail) } }));
  org = await reviewedOrganization(database.db, url);
  await activatePayPolicy(url, org, "never", { when: "true", effect: "block", escalation: {} });
});

const post = async (path: string, body: unknown, key = org.agent) =>
  (await call(url, "POST", path, { key, body })).json;
const blocked = { intent: { agent: { id: "agent-1" }, action: { verb: "pay" } } };

async function submitted(body: object = heldBody, mode = ""): Promise<{ intent_id: string; escalation_id: string }> {
  return (await post(`/v1/intents${mode}`, body)).decision;
}

async function reported(intent_id: string, status = "executed") {
  await post(`/v1/intents/${intent_id}/observations`, { status });
  const { audit } = (await call(url, "GET", `/v1/intents/${intent_id}/audit`, { key: org.admin })).json;
  const alarms = audit.filter(({ type }: { type: string }) => type === "contradicted");
  return alarms.map(({ data }: { data: { because: string } }) => data.because);
}

const count = async (query = "") =>
  (await call(url, "GET", `/v1/overview${query}`, { key: org.admin })).json.overview.contradictions;

test("executing a blocked, waiting or withdrawn action raises an alarm; an approved or abandoned one does not", async () => {
  const before = await count();
  expect(await reported((await submitted(blocked)).intent_id)).toEqual(["blocked"]);
  expect(await reported((await submitted()).intent_id)).toEqual(["pending"]);
  const withdrawn = await submitted();
  await post(`/v1/escalations/${withdrawn.escalation_id}/withdraw`, {});
  expect(await reported(withdrawn.intent_id)).toEqual(["withdrawn"]);

  const approved = await submitted();
  await post(`/v1/escalations/${approved.escalation_id}/decision`, { outcome: "approve" }, org.reviewer);
  expect(await reported(approved.intent_id)).toEqual([]);
  expect(await reported((await submitted(blocked)).intent_id, "skipped")).toEqual([]);
  expect(await reported((await submitted(blocked, "?mode=shadow")).intent_id)).toEqual([]);

  expect(await count()).toBe(before + 3);
  expect(await count("?mode=shadow")).toBe(0);
  const { text } = await call(url, "GET", "/metrics", { key: org.admin });
  expect(text).toMatch(/countersign_contradictions_total\{because="withdrawn"\} 1/);
});

test("executing an action that needed a claim raises an alarm without one; the claimer, and operators after a claim, may report", async () => {
  const claim = (intent_id: string) => post(`/v1/intents/${intent_id}/claim`, { nonce: "a-nonce-of-this-process" });
  const approved = async (n: number) => {
    // Different actions, so that no approval is passed on.
    const intent = { ...heldBody.intent, payload: { content: { n } } };
    const { intent_id, escalation_id } = await submitted({ ...heldBody, intent, claim: "required" });
    await post(`/v1/escalations/${escalation_id}/decision`, { outcome: "approve" }, org.reviewer);
    return intent_id;
  };
  const [unclaimed, claimed, settled] = [await approved(1), await approved(2), await approved(3)];
  expect(await reported(unclaimed)).toEqual(["not_claimed"]);
  await claim(claimed);
  expect(await reported(claimed)).toEqual([]);
  await claim(settled);
  await post(`/v1/intents/${settled}/observations`, { status: "executed" }, org.operator);
  expect(await reported(settled, "skipped")).toEqual([]);
});

test("operators and admins get a mail once an hour, reviewers do not", async () => {
  const own = await reviewedOrganization(database.db, url);
  const roles = ["admin", "operator", "reviewer"] as const;
  const people = await Promise.all(
    roles.map((role) => testPerson(database.db, own.org.org_id, { role, notify: false })),
  );
  const mailed = () => mails.filter(({ subject }) => subject.startsWith("An agent carried out")).map(({ to }) => to);
  for (const _ of ["first", "again"]) {
    const { intent_id } = (await post("/v1/intents", heldBody, own.agent)).decision;
    await post(`/v1/intents/${intent_id}/observations`, { status: "executed" }, own.agent);
    await vi.waitFor(async () => expect(await database.db.query("select from mails")).toEqual([]));
    expect(mailed().sort()).toEqual([people[0]?.email, people[1]?.email].sort());
  }
});
