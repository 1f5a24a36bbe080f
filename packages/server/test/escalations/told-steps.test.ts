import { expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { heldBody, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";
import { listen, told } from "../../src/testing/people/told.ts";

const database = await testDatabase();
const { db } = database;
const { url } = await serviceNode(database);

const post = (path: string, key: string, body: unknown) => call(url, "POST", path, { key, body });
const decide = (path: string, key: string, body: unknown) => post(`${path}/decision`, key, body);

async function held(of: Reviewed) {
  const { json } = await post("/v1/intents", of.agent, heldBody);
  const { intent_id, escalation_id } = json.decision as { intent_id: string; escalation_id: string };
  return { intent_id, path: `/v1/escalations/${escalation_id}`, escalation_id };
}

test("each step that changes something is sent to webhooks with the record at that step", async () => {
  const own = await reviewedOrganization(db, url);
  await listen(db, own.org.org_id);
  const first = await held(own);
  const reviewers = [{ type: "role", id: "operator" }];
  const reassigned = (await post(`${first.path}/reassign`, own.operator, { reviewers })).json.escalation;
  const decided = (await decide(first.path, own.operator, { outcome: "block" })).json.escalation;
  const second = await held(own);
  const cancelled = (await post(`${second.path}/cancel`, own.operator, {})).json.escalation;
  const bodies = await told<Record<string, unknown>>(db, own.org.org_id);
  const steps = bodies.filter((body) => String(body["event_type"]).startsWith("escalation."));
  expect(steps.map((body) => [body["event_type"], body["escalation_status"], body["data"]])).toEqual([
    ["escalation.reassigned", "pending", reassigned],
    ["escalation.decided", "decided", decided],
    ["escalation.cancelled", "cancelled", cancelled],
  ]);
  expect(steps[0]).toMatchObject({ escalation_id: first.escalation_id, intent_id: first.intent_id, decision_id: null });
});

test("each vote is sent; one that leaves the review open contains nothing that looks like an approval", async () => {
  const own = await reviewedOrganization(db, url, {
    escalation: { timeout_seconds: 600, on_timeout: "block", reviewers: [], quorum: 2 },
  });
  await listen(db, own.org.org_id);
  const { path } = await held(own);
  const first = (await decide(path, own.operator, { outcome: "approve", comment: "fine" })).json.escalation;
  const last = (await decide(path, own.reviewer, { outcome: "approve" })).json.escalation;
  const bodies = await told<Record<string, unknown>>(db, own.org.org_id);
  const steps = bodies.filter((body) => body["event_type"] === "escalation.decided");
  const { votes, quorum: _quorum, panels: _panels, on_timeout: _on_timeout, ...rest } = first;
  expect(votes).toHaveLength(1);
  expect(steps.map((body) => [body["escalation_status"], body["data"]])).toEqual([
    ["pending", { ...rest, outcome: null }],
    ["decided", last],
  ]);
  expect(JSON.stringify(steps[0]).toLowerCase()).not.toContain("approve");
});
