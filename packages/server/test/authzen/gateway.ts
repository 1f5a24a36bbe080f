/** A gateway that asks the service, for tests of AuthZEN. */
import { expect } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { activatePolicy } from "../../src/testing/people/policies.ts";
import { reviewedOrganization } from "../../src/testing/people/review.ts";

/** Two nodes of one database, one with COUNTERSIGN_AUTHZEN=decide_only, and an organization with a rule for each verdict. */
export async function testGateway() {
  const database = await testDatabase();
  const { url } = await serviceNode(database);
  const { url: decide_only } = await serviceNode(database, { config: { authzen: "decide_only" } });
  const org = await reviewedOrganization(database.db, url, { packs: [], default_verdict: "approve" });
  const grants = { times_max: 5, hours_max: 24 };
  await activatePolicy(url, org, "wires", { match: { verbs: ["wire"] }, when: "true", effect: "block" });
  await activatePolicy(url, org, "transfers", {
    ...{ match: { verbs: ["transfer"] }, when: "true", effect: "escalate", escalation: { grants } },
  });
  await activatePolicy(url, org, "small-orders", {
    ...{ match: { verbs: ["order"] }, when: "params.quantity > 10.0", effect: "approve_modified" },
    modify: [{ op: "set", path: "/quantity", value: "10" }],
  });
  await activatePolicy(url, org, "one-a-day", {
    ...{ match: { verbs: ["draw", "order"] }, when: "count.drawn.n > 1", effect: "block", on_unknown: "block" },
    counters: [{ name: "drawn", key: ["target.identifier"], window: "24h" }],
  });
  await activatePolicy(url, org, "office-only", {
    ...{ match: { verbs: ["enter"] }, when: 'facts.environmental.request_context.ip != "10.0.0.1"' },
    ...{ effect: "block", on_unknown: "block" },
  });

  const post = (path: string, body: unknown, key = org.agent, base = url, headers = {}) =>
    call(base, "POST", path, { key, body, headers });
  const evaluate = async (body: unknown, key = org.agent, base = url) => {
    const answer = await post("/access/v1/evaluation", body, key, base);
    expect(answer.status, answer.text).toBe(200);
    return answer.json;
  };
  const list = async (body: object, base = url) => {
    const answer = await post("/access/v1/evaluations", body, org.agent, base);
    expect(answer.status, answer.text).toBe(200);
    return answer.json.evaluations;
  };

  return { database, url, decide_only, org, post, evaluate, list };
}

let numbers = 0;

/** An evaluation of an action that no other test has. */
export function access(verb: string, more: object = {}) {
  numbers += 1;
  const resource = { type: "account", id: `account-${numbers}` };
  return { subject: { type: "user", id: "alice" }, action: { name: verb }, resource, ...more };
}

export const decisions = (answers: { decision: boolean }[]): boolean[] => answers.map(({ decision }) => decision);
