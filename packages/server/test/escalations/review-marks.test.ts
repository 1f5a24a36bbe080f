import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { heldBody, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
let url: string;
let org: Reviewed;
let other: string;
beforeAll(async () => {
  url = (await serviceNode(database)).url;
  org = await reviewedOrganization(database.db, url);
  other = (await org.org.key({ role: "reviewer" })).api_key;
});

const post = (path: string, key: string, body?: unknown) => call(url, "POST", path, { key, body });
const get = (path: string, key: string) => call(url, "GET", path, { key });
async function held(body: object = heldBody) {
  const { decision } = (await post("/v1/intents", org.agent, body)).json;
  return { path: `/v1/escalations/${decision.escalation_id}`, intent_id: decision.intent_id as string };
}
const inADay = () => new Date(Date.now() + 86_400_000).toISOString();
const queueOf = async (key: string, snoozed: string): Promise<string[]> => {
  const { json } = await get(`/v1/escalations?status=pending&snoozed=${snoozed}`, key);
  return json.escalations.map(({ escalation_id }: { escalation_id: string }) => `/v1/escalations/${escalation_id}`);
};
const auditOf = async (intent_id: string, type: string) =>
  (await get(`/v1/intents/${intent_id}/audit`, org.admin)).json.audit.filter(
    (row: { type: string }) => row.type === type,
  );

test("others see who took a review; they may take it over, and it can be given back; each is in the audit trail", async () => {
  const { path, intent_id } = await held();
  const first = (await post(`${path}/take`, org.reviewer)).json.escalation.taken;
  expect((await get(path, other)).json.escalation.taken).toEqual(first);
  const second = (await post(`${path}/take`, other, {})).json.escalation.taken;
  expect(second.by).not.toBe(first.by);
  expect((await get("/v1/escalations?status=pending", org.reviewer)).json.escalations[0].taken).toEqual(second);
  expect((await post(`${path}/take`, other, { taken: false })).json.escalation.taken).toBeUndefined();
  expect((await get(path, org.reviewer)).json.escalation.taken).toBeUndefined();
  const audit = await auditOf(intent_id, "review_taken");
  expect(audit.map(({ data }: { data: { taken: boolean } }) => data.taken)).toEqual([true, true, false]);
});

test("a comment decides nothing, and people read it at the review; hidden texts of the action are redacted in it", async () => {
  const password = "hunter2-very-secret";
  const body = structuredClone(heldBody) as { intent: { payload: { content: object } } };
  body.intent.payload.content = { password };
  const { path, intent_id } = await held(body);
  await post(`${path}/comment`, org.reviewer, { comment: "asked the customer" });
  const { escalation } = (await post(`${path}/comment`, other, { comment: `it shows ${password}` })).json;
  expect(escalation).toMatchObject({ status: "pending", votes: [] });
  const { comments } = (await get(path, org.reviewer)).json.escalation;
  expect(comments.map(({ comment }: { comment: string }) => comment)).toEqual([
    "asked the customer",
    expect.not.stringContaining(password),
  ]);
  expect(await auditOf(intent_id, "commented")).toHaveLength(2);
});

test("a snoozed review is hidden from the person's own queue only, until its time", async () => {
  const { path } = await held();
  const until = inADay();
  const { escalation } = (await post(`${path}/snooze`, org.reviewer, { until })).json;
  expect(Date.parse(escalation.snoozed_until)).toBe(Date.parse(until));
  expect(await queueOf(org.reviewer, "exclude")).not.toContain(path);
  expect(await queueOf(org.reviewer, "only")).toEqual([path]);
  expect(await queueOf(other, "exclude")).toContain(path);
  await database.db.system((query) => query("update review_snoozes set until = now() - interval '1 second'"));
  expect(await queueOf(org.reviewer, "exclude")).toContain(path);
  expect((await get(path, org.reviewer)).json.escalation.snoozed_until).toBeUndefined();
});

test.each([
  ["a comment", (path: string) => post(`${path}/comment`, other, { comment: "new papers came" })],
  ["somebody takes it", (path: string) => post(`${path}/take`, other)],
  [
    "a reassignment",
    (path: string) => post(`${path}/reassign`, org.operator, { reviewers: [{ type: "role", id: "reviewer" }] }),
  ],
  ["its own end", (path: string) => post(`${path}/snooze`, org.reviewer, { until: null })],
])("a snoozed review comes back after %s", async (_, change) => {
  const { path } = await held();
  await post(`${path}/snooze`, org.reviewer, { until: inADay() });
  expect(await queueOf(org.reviewer, "exclude")).not.toContain(path);
  expect((await change(path)).status).toBe(200);
  expect(await queueOf(org.reviewer, "exclude")).toContain(path);
});

test("a time that is over, or too late, is refused", async () => {
  const { path } = await held();
  for (const until of ["2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z"])
    expect((await post(`${path}/snooze`, org.reviewer, { until })).json.error.details[0].path).toBe("/until");
});

test("a closed review takes no marks, and an unknown one is not found", async () => {
  const { path } = await held();
  await post(`${path}/decision`, org.reviewer, { outcome: "block" });
  const bodies = { take: {}, comment: { comment: "late" }, snooze: { until: inADay() } };
  for (const [mark, body] of Object.entries(bodies)) {
    expect((await post(`${path}/${mark}`, org.reviewer, body)).json.error.code).toBe("escalation_closed");
    expect((await post(`/v1/escalations/esc_0/${mark}`, org.reviewer, body)).json.error.code).toBe("not_found");
    expect((await post(`${path}/${mark}`, org.agent, body)).json.error.code).toBe("forbidden");
  }
});
