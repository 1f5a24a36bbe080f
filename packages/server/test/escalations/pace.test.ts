/** Source: docs/reference/reviews.md. */
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { activatePayPolicy, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
let urls: [string, string];

beforeAll(async () => {
  urls = [(await serviceNode(database)).url, (await serviceNode(database)).url];
});

const post = (path: string, key: string, body?: unknown, node = 0) =>
  call(urls[node] ?? "", "POST", path, { key, body });
const read = async (path: string, key: string) => (await call(urls[1], "GET", path, { key })).json.escalation;
const approve = (path: string, key: string, more: object = {}, node = 0) =>
  post(`${path}/decision`, key, { outcome: "approve", ...more }, node);

async function organization(pace: object, escalation: object = {}): Promise<Reviewed> {
  const membrane = { timeout_seconds: 3_600, on_timeout: "block", reviewers: [], quorum: 1 };
  const org = await reviewedOrganization(database.db, urls[0], { packs: [], escalation: membrane });
  await activatePayPolicy(urls[0], org, "wires", { when: "true", escalation: { ...escalation, pace } });
  return org;
}

async function held(org: Reviewed, amount = 5): Promise<string> {
  const action = { type: "payment.transfer", verb: "pay" };
  const intent = { agent: { id: "agent-1" }, action, payload: { content: { amount } } };
  return `/v1/escalations/${(await post("/v1/intents", org.agent, { intent })).json.decision.escalation_id}`;
}

/** Moves an organization's review times back by this many seconds. */
const pass = (org: Reviewed, seconds: number) =>
  database.db.query(
    `update reviewer_times set shown_at = shown_at - d, ruled_at = ruled_at - d
     from (select make_interval(secs => $2::integer) as d) t where org_id = $1`,
    [org.org.org_id, seconds],
  );

const votedIn = async (org: Reviewed, path: string, key = org.admin) => {
  const { intent_id } = await read(path, org.admin);
  const { audit } = (await call(urls[0], "GET", `/v1/intents/${intent_id}/audit`, { key })).json;
  return audit.filter(({ type }: { type: string }) => type === "voted").map(({ data }: { data: object }) => data);
};

test("an approval too soon after the case was shown is refused without a reason, and is marked with one", async () => {
  const org = await organization({ min_seconds: 20 });
  const path = await held(org);
  const never = await approve(path, org.reviewer);
  expect([never.status, never.json.error.code]).toEqual([409, "reason_required"]);
  expect(never.json.error.details).toMatchObject([
    { path: "/comment", code: "too_soon", message: expect.stringContaining("You have not read this escalation") },
  ]);
  await read(path, org.reviewer);
  // Reading again, or by another person, does not change the first look.
  await read(path, org.admin);
  await pass(org, 15);
  await read(path, org.reviewer);
  const soon = await approve(path, org.reviewer, { comment: " \n.\u200b" });
  expect(soon.json.error.details[0].message).toMatch(/^You read this escalation first 1\d\.\d s ago; .* within 20 s/);
  const { status, json } = await approve(path, org.reviewer, { comment: "The vendor called me." });
  expect([status, json.escalation.status]).toEqual([200, "decided"]);
  const fast = {
    because: ["too_soon"],
    shown_seconds: expect.any(Number),
    approvals_in_five_minutes: 1,
    second_person: false,
  };
  expect(json.escalation.votes).toMatchObject([{ comment: "The vendor called me.", fast }]);
  expect(await votedIn(org, path)).toMatchObject([{ comment: "The vendor called me.", fast }]);
  const [agents] = await votedIn(org, path, org.agent);
  expect([agents.outcome, "fast" in agents]).toEqual(["approve", false]);
});

test("an approval after the time needs no reason and has no mark; a block is never too fast", async () => {
  const org = await organization({ min_seconds: 20, reason_from: 1 });
  const blocked = await post(`${await held(org)}/decision`, org.reviewer, { outcome: "block" });
  expect([blocked.status, "fast" in blocked.json.escalation.votes[0]]).toEqual([200, false]);
  const slow = await organization({ min_seconds: 20 });
  const path = await held(slow);
  await read(path, slow.reviewer);
  await pass(slow, 20);
  const { status, json } = await approve(path, slow.reviewer);
  expect([status, "fast" in json.escalation.votes[0]]).toEqual([200, false]);
});

test("the number of approvals within five minutes is exact on two nodes, and counts approvals of one person only", async () => {
  const org = await organization({ reason_from: 4 });
  const paths = await Promise.all(Array.from({ length: 12 }, () => held(org)));
  const answers = await Promise.all(paths.map((path, n) => approve(path, org.reviewer, {}, n % 2)));
  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(3).fill(200), ...Array(9).fill(409)]);
  const refused = answers.find(({ status }) => status === 409)?.json.error;
  expect([refused.code, refused.details[0].code]).toEqual(["reason_required", "too_many"]);
  expect(refused.details[0].message).toMatch(/number 4 within five minutes; from number 4 on/);
  const open = paths.filter((_, n) => answers[n]?.status === 409);
  const [first = "", second = "", third = ""] = open;
  expect((await approve(first, org.operator)).status).toBe(200);
  const reasoned = await approve(second, org.reviewer, { comment: "yes, as agreed" });
  expect(reasoned.json.escalation.votes[0].fast).toMatchObject({ because: ["too_many"], approvals_in_five_minutes: 4 });
  await pass(org, 300);
  expect((await approve(third, org.reviewer)).status).toBe(200);
});

test("instead of a reason, one more person approves in the panel of the rule with the pace", async () => {
  const org = await organization({ min_seconds: 20 }, { reviewers: ["role:operator"] });
  await activatePayPolicy(urls[0], org, "admins", { when: "true", escalation: { reviewers: ["role:admin"] } });
  const path = await held(org);
  const first = (await approve(path, org.admin, { second_person: true })).json.escalation;
  expect(first.votes[0].fast.second_person).toBe(true);
  const shown = first.panels.map(({ policy, required, status }: Record<string, unknown>) => [policy, required, status]);
  expect([first.status, ...shown]).toEqual(["pending", ["admins", 1, "met"], ["wires", 2, "open"]]);
  const other = await held(org);
  await approve(other, org.admin, { second_person: true });
  const reasoned = await approve(other, org.admin, { comment: "checked by telephone" });
  expect(reasoned.json.escalation.status).toBe("decided");
  expect(await read(other, org.admin)).toEqual(reasoned.json.escalation);
});

test("the second person closes the review", async () => {
  const org = await organization({ min_seconds: 20 }, { reviewers: ["role:operator"] });
  const path = await held(org);
  expect((await approve(path, org.operator, { second_person: true })).json.escalation.status).toBe("pending");
  await read(path, org.admin);
  await pass(org, 25);
  expect((await approve(path, org.admin)).json.escalation).toMatchObject({
    ...{ status: "decided", quorum: { required: 2, approvals: 2 } },
    panels: [{ required: 2, status: "met", pace: { min_seconds: 20 } }],
  });
});

test("a membrane's pace counts for its policies, can be switched off, and is off at first", async () => {
  const org = await organization({});
  const path = `/v1/membranes/${org.membrane_id}`;
  const change = (escalation: object) => call(urls[0], "PATCH", path, { key: org.admin, body: { escalation } });
  const { membranes } = (await call(urls[0], "GET", "/v1/membranes", { key: org.admin })).json;
  expect("pace" in membranes[0].escalation).toBe(false);
  expect((await approve(await held(org), org.reviewer)).status).toBe(200);
  expect((await change({ pace: { min_seconds: 0 } })).status).toBe(400);
  expect((await change({ pace: { min_seconds: 5 } })).json.membrane.escalation.pace).toEqual({ min_seconds: 5 });
  const paced = await held(org);
  await change({ pace: null });
  expect((await approve(paced, org.reviewer)).json.error.code).toBe("reason_required");
  expect((await approve(await held(org), org.reviewer)).status).toBe(200);
});
