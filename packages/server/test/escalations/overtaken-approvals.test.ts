/** Source: docs/decisions/0011. */
import { beforeEach, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);
let own: Reviewed;
let people: string[];
beforeEach(async () => {
  const escalation = { timeout_seconds: 600, on_timeout: "block", reviewers: [], quorum: 3 };
  own = await reviewedOrganization(database.db, url, { packs: [], default_verdict: "escalate", escalation });
  people = [own.reviewer, own.operator, own.admin];
});

const post = (path: string, key: string, body: unknown) => call(url, "POST", path, { key, body });
const get = async (path: string) => (await call(url, "GET", path, { key: own.admin })).json;

async function held(content: object) {
  const intent = { agent: { id: "a" }, action: { type: "other.pay", verb: "pay" }, payload: { content } };
  const { json } = await post("/v1/intents", own.agent, { intent });
  expect(json.decision.verdict).toBe("escalate");
  const { intent_id, escalation_id } = json.decision;
  const vote = (n: number, ...modifications: object[]) =>
    post(`/v1/escalations/${escalation_id}/decision`, people[n] as string, {
      outcome: modifications.length === 0 ? "approve" : "approve_modified",
      ...(modifications.length === 0 ? {} : { modifications }),
    });
  const content_of = async () => (await get(`/v1/intents/${intent_id}/decision`)).decision.modified_content;
  const voided = async () =>
    (await get(`/v1/intents/${intent_id}/audit`)).audit.flatMap(
      ({ data }: { data: { voided?: string[] } }) => data.voided ?? [],
    );
  const read = async () => (await get(`/v1/escalations/${escalation_id}`)).escalation;
  return { vote, content_of, voided, read };
}

async function activated(name: string, spec: object): Promise<string> {
  const document = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec };
  const { json } = await post("/v1/policies", own.admin, {
    policy: { ...document, spec: { on_unknown: "skip", ...spec } },
  });
  const { policy_id } = json.policy;
  expect((await post(`/v1/policies/${policy_id}/activate`, own.admin, { mode: "live" })).status).toBe(200);
  return policy_id;
}

const less = { op: "replace", path: "/amount", value: 5 };
const modify = (...changes: object[]) => ({ effect: "approve_modified", modify: changes });

test("end if policies add to the approved action: their voters vote again, and the trail names them", async () => {
  const { vote, content_of, voided, read } = await held({ amount: 50 });
  for (const n of [0, 1]) expect((await vote(n, less)).json.escalation.quorum.approvals).toBe(n + 1);
  const [first, second] = (await read()).votes;
  await activated("note", { when: "true", ...modify({ op: "set", path: "/note", value: "'checked'" }) });

  const third = await vote(2, less);
  expect(third.status, third.text).toBe(200);
  expect(third.json.escalation).toMatchObject({ status: "pending", quorum: { approvals: 1, rejections: 0 } });
  expect(third.json.escalation.votes).toHaveLength(1);
  expect(await voided()).toEqual([first.reviewer, second.reviewer]);
  expect((await vote(0, less)).json.escalation.quorum.approvals).toBe(2);
  expect((await vote(1, less)).json.escalation.status).toBe("decided");
  expect(await content_of()).toEqual({ amount: 5, note: "checked" });
  expect(await voided()).toHaveLength(2);
});

test("end if policies block the approved change: the action can still be approved as submitted", async () => {
  const { vote, content_of, read } = await held({ amount: 50 });
  for (const n of [0, 1]) await vote(n, less);
  await activated("no-fives", { when: "params.amount == 5.0", effect: "block" });
  expect((await vote(2, less)).json.error.code).toBe("modified_action_blocked");
  expect((await read()).votes).toHaveLength(2);
  expect((await vote(2)).json.escalation.quorum.approvals).toBe(1);
  for (const n of [0, 1]) expect((await vote(n)).status).toBe(200);
  expect(await read()).toMatchObject({ status: "decided", resolution: { outcome: "approve" } });
  expect(await content_of()).toBeNull();
});

test("stay valid if policies change nothing in the approved action", async () => {
  const { vote, voided } = await held({ amount: 50 });
  for (const n of [0, 1]) await vote(n, less);
  await activated("elsewhere", { when: "params.amount > 10.0", effect: "block" });
  expect((await vote(2)).json.error.code).toBe("state_conflict");
  expect((await vote(2, { ...less, value: 6 })).json.error.code).toBe("state_conflict");
  expect((await vote(2, less)).json.escalation.status).toBe("decided");
  expect(await voided()).toEqual([]);
});

test("are not replaced by an approval of a redacted change, because a redacted value may be allowed meanwhile", async () => {
  const hide = await activated("hide", { when: "true", ...modify({ op: "redact", path: "/to" }) });
  const { vote, content_of, voided } = await held({ amount: 50, to: "Ann Miller" });
  const change = { op: "replace", path: "/to", value: "Mallory Jones" };
  const [{ modifications: told }] = (await vote(0, change)).json.escalation.votes;
  expect(told).toEqual([{ ...change, value: "[redacted]" }]);
  expect((await vote(1, ...told)).json.escalation.quorum.approvals).toBe(2);
  expect((await post(`/v1/policies/${hide}/retire`, own.admin, undefined)).status).toBe(200);

  const refused = (await vote(2, ...told)).json.error;
  expect(refused.code).toBe("state_conflict");
  expect(refused.details[0].message).toContain("Send the full change");
  expect(await voided()).toEqual([]);
  expect((await vote(2, change)).json.escalation).toMatchObject({ quorum: { approvals: 1 }, status: "pending" });
  expect((await vote(1, ...told)).json.error.code).toBe("state_conflict");
  for (const n of [0, 1]) await vote(n, change);
  expect(await content_of()).toEqual({ amount: 50, to: "Mallory Jones" });
});

test("values that policies redact only at the time of a ruling appear in no event of it", async () => {
  const name = "Ann Oxford";
  const payload = { summary: `Pay ${name}`, content: { amount: 50, note: name } };
  const intent = {
    agent: { id: "a" },
    action: { type: "other.pay", verb: "pay", target: { identifier: name } },
    payload,
  };
  const { decision } = (await post("/v1/intents", own.agent, { intent })).json;
  const path = `/v1/escalations/${decision.escalation_id}`;
  const approve = (by: string) =>
    post(`${path}/decision`, by, { outcome: "approve_modified", modifications: [less], comment: `${name} waits` });
  await post("/v1/escalations/webhooks", own.admin, { url: "https://receiver.example.com/hook" });
  await activated("hide", { when: "true", ...modify({ op: "redact", path: "/note" }) });

  for (const by of people) expect((await approve(by)).text).not.toContain(name);
  expect((await get(path)).escalation).toMatchObject({
    status: "decided",
    action: { summary: "Pay [redacted]", target: { identifier: "[redacted]" } },
  });
  const [heard] = await database.db.query<{ text: string }>(
    `select text from (select body::text as text from events where org_id = $1
       union all select body::text from deliveries where org_id = $1) as heard
     where text::json ->> 'event_type' = 'escalation.decided' and text::json ->> 'escalation_status' = 'decided'`,
    [own.org.org_id],
  );
  expect(heard?.text).toContain("Pay [redacted]");
  expect(heard?.text).not.toContain(name);
});
