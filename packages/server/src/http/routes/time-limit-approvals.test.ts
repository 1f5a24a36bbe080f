/** Approval by the end of the time, which a membrane may allow and forbid again. Source: api.md §6. */
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../testing/database.ts";
import { call } from "../../testing/http-node.ts";
import { deadlineIn, heldBody, reviewedOrganization } from "../../testing/review.ts";
import { serviceNode } from "../../testing/service-node.ts";

const database = await testDatabase();
let url: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
});

const terms = (on_timeout: "approve" | "block") => ({
  escalation: { timeout_seconds: 600, on_timeout, reviewers: [], quorum: 1 },
});

/** What became of an action whose membrane said `first` when it was held and `then` when its time was over. */
async function ended(first: "approve" | "block", then: "approve" | "block") {
  const { admin, agent, membrane_id } = await reviewedOrganization(database.db, url, terms(first));
  const held = await call(url, "POST", "/v1/intents", { key: agent, body: heldBody });
  const { intent_id, escalation_id } = held.json.decision as { intent_id: string; escalation_id: string };
  const changed = await call(url, "PATCH", `/v1/membranes/${membrane_id}`, { key: admin, body: terms(then) });
  expect(changed.status).toBe(200);
  await deadlineIn(database.db, [escalation_id], "0 s");
  const { json } = await call(url, "GET", `/v1/intents/${intent_id}/decision?wait=30`, { key: agent });
  const { escalation } = (await call(url, "GET", `/v1/escalations/${escalation_id}`, { key: admin })).json;
  const { status, on_timeout, resolution } = escalation;
  expect([status, json.decision.outcome]).toEqual(["timed_out", resolution.outcome]);
  return { on_timeout, outcome: resolution.outcome };
}

test("the end of the time approves nothing any more once the membrane forbids it", async () => {
  expect(await ended("approve", "block")).toEqual({ on_timeout: "block", outcome: "block" });
});

test("a membrane that allows it later lets nothing through that was held before", async () => {
  expect(await ended("block", "approve")).toEqual({ on_timeout: "block", outcome: "block" });
});

test("where the membrane allowed it all the time, the end of the time approves", async () => {
  expect(await ended("approve", "approve")).toEqual({ on_timeout: "approve", outcome: "approve" });
});
