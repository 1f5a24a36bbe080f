/** Nobody looked at the action, so current membrane and policies must allow it. */
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { deadlineIn, heldBody, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
let urls: [string, string];
beforeAll(async () => {
  urls = [(await serviceNode(database)).url, (await serviceNode(database)).url];
});

const terms = (on_timeout: "approve" | "block") => ({
  escalation: { timeout_seconds: 600, on_timeout, reviewers: [], quorum: 1 },
});

/** Returns the outcome of an action held under `first` that times out after `change`. */
async function ended(first: "approve" | "block", change: (of: Reviewed) => Promise<unknown> = async () => {}) {
  const of = await reviewedOrganization(database.db, urls[0], terms(first));
  const held = await call(urls[1], "POST", "/v1/intents", { key: of.agent, body: heldBody });
  const { intent_id, escalation_id } = held.json.decision as { intent_id: string; escalation_id: string };
  await change(of);
  await deadlineIn(database.db, [escalation_id], "0 s");
  const { json } = await call(urls[1], "GET", `/v1/intents/${intent_id}/decision?wait=30`, { key: of.agent });
  const { escalation } = (await call(urls[0], "GET", `/v1/escalations/${escalation_id}`, { key: of.admin })).json;
  const { status, on_timeout, resolution } = escalation;
  expect([status, json.decision.outcome]).toEqual(["timed_out", resolution.outcome]);
  return { on_timeout, outcome: resolution.outcome };
}

const approved = { on_timeout: "approve", outcome: "approve" };
const blocked = { on_timeout: "block", outcome: "block" };

describe("the membrane", () => {
  const membrane =
    (on_timeout: "approve" | "block") =>
    ({ admin, membrane_id }: Reviewed) =>
      call(urls[0], "PATCH", `/v1/membranes/${membrane_id}`, { key: admin, body: terms(on_timeout) });

  test("a timeout approves nothing once the membrane forbids it", async () => {
    expect(await ended("approve", membrane("block"))).toEqual(blocked);
  });

  test("a membrane that allows it later approves no action held before", async () => {
    expect(await ended("block", membrane("approve"))).toEqual(blocked);
  });

  test("a timeout approves if the membrane always allowed it", async () => {
    expect(await ended("approve")).toEqual(approved);
  });
});

describe("a policy that was activated while the action waited", () => {
  const policy =
    (spec: object) =>
    async ({ admin }: Reviewed) => {
      const document = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "since" }, spec };
      const made = await call(urls[0], "POST", "/v1/policies", { key: admin, body: { policy: document } });
      const path = `/v1/policies/${made.json.policy.policy_id}/activate`;
      expect((await call(urls[0], "POST", path, { key: admin, body: { mode: "live" } })).status).toBe(200);
    };
  const match = { verbs: ["ship"] };

  test.each([
    ["blocks it", { match, when: "true", effect: "block" }],
    ["forbids approval by time", { match, when: "true", effect: "escalate", escalation: { on_timeout: "block" } }],
    ["changes it", { match, when: "true", effect: "approve_modified", modify: [{ op: "redact", path: "/version" }] }],
  ])("%s: the timeout blocks", async (_title, spec) => {
    expect(await ended("approve", policy(spec))).toEqual(blocked);
  });

  test.each([
    ["holds it, too", { match, when: "true", effect: "escalate" }],
    ["is about other actions", { match: { verbs: ["pay"] }, when: "true", effect: "block" }],
  ])("%s: the timeout approves", async (_title, spec) => {
    expect(await ended("approve", policy(spec))).toEqual(approved);
  });
});

test("an action that policies changed from the start is approved with the changes", async () => {
  const of = await reviewedOrganization(database.db, urls[0], terms("approve"));
  const spec = { when: "true", effect: "approve_modified", modify: [{ op: "cap", path: "/replicas", value: "1.0" }] };
  const document = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "few" }, spec };
  const made = await call(urls[0], "POST", "/v1/policies", { key: of.admin, body: { policy: document } });
  const path = `/v1/policies/${made.json.policy.policy_id}/activate`;
  await call(urls[0], "POST", path, { key: of.admin, body: { mode: "live" } });
  const held = await call(urls[0], "POST", "/v1/intents", { key: of.agent, body: heldBody });
  const { intent_id, escalation_id, modified_content } = held.json.decision;
  expect([escalation_id === null, modified_content]).toEqual([false, { version: 4, replicas: 1 }]);
  await deadlineIn(database.db, [escalation_id], "0 s");
  const { json } = await call(urls[1], "GET", `/v1/intents/${intent_id}/decision?wait=30`, { key: of.agent });
  expect(json.decision).toMatchObject({ outcome: "approve_modified", modified_content });
});
