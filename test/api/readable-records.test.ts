/** Stored records contain only whole characters, also after cutting an agent's text, and no NUL. */
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";
import { unreadableRecords } from "../../packages/server/src/testing/readable-records.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);
let org: Reviewed;
beforeAll(async () => {
  org = await reviewedOrganization(database.db, url);
  const long = { when: "true", effect: "escalate", message: "{{params.text}}" };
  await inForce("short", { match: { verbs: ["tell"] }, when: "true", effect: "escalate", message: "hm" });
  for (const name of ["tell-1", "tell-2", "tell-3", "tell-4"]) {
    await inForce(name, { match: { verbs: ["tell"] }, ...long });
  }
  await inForce("look-up", {
    match: { verbs: ["look"] },
    when: "params.table[params.name] == 1.0",
    effect: "escalate",
  });
});

const send = (method: string, path: string, body?: unknown, key = org.admin) =>
  call(url, method, path, { key, ...(body === undefined ? {} : { body }) });

async function inForce(name: string, spec: object): Promise<void> {
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name, title: name }, spec };
  const { json } = await send("POST", "/v1/policies", { policy });
  expect((await send("POST", `/v1/policies/${json.policy.policy_id}/activate`, { mode: "live" })).status).toBe(200);
}

const submit = async (verb: string, content: object) => {
  const body = { intent: { agent: { id: "a" }, action: { verb }, payload: { content } } };
  const { status, json } = await send("POST", "/v1/intents", body, org.agent);
  expect(status).toBe(201);
  return json;
};
/** Enough surrogate pairs that each cut falls inside one, at an odd or an even offset. */
const faces = (beginning: string, count = 1_500) => beginning + "😀".repeat(count);
const halves = /\p{Surrogate}/u;

describe.each(["", "a"])("after %j", (beginning) => {
  test("an escalation with many long reasons can be decided and cancelled", async () => {
    const rulings = [
      ["decision", { outcome: "approve" }, org.reviewer],
      ["cancel", {}, org.operator],
    ] as const;
    for (const [operation, body, key] of rulings) {
      const { decision } = await submit("tell", { text: faces(beginning) });
      const path = `/v1/escalations/${decision.escalation_id}`;
      const { reason } = (await send("GET", path)).json.escalation;
      expect(reason.length).toBeGreaterThan(3_990);
      expect(reason).not.toMatch(halves);
      expect((await send("POST", `${path}/${operation}`, body, key)).status).toBe(200);
    }
  });

  test("a decision that names missing facts is readable for every reader of records", async () => {
    const { decision } = await submit("look", { table: { x: 1 }, name: faces(beginning, 500) });
    const [{ path }] = decision.reasons[0].unknown_facts;
    expect(path.length).toBeGreaterThan(250);
    expect(path).not.toMatch(halves);
    expect((await send("GET", "/v1/overview")).status).toBe(200);
    const window = { from: "2026-01-01T00:00:00Z", to: "2100-01-01T00:00:00Z" };
    const backtest = await send("POST", "/v1/learning/backtest", { window });
    expect([backtest.status, backtest.json.backtest?.reproduced]).toEqual([200, 1]);
  });
});

test("a refusal that quotes the beginning of a long name quotes whole characters", async () => {
  for (const beginning of ["", "a"]) {
    const facts = { security: { [faces(beginning)]: 1 } };
    const { text } = await send("POST", "/v1/context/validate", { contract_version: "1", facts });
    expect(text).not.toMatch(/\\ud[89ab]/);
  }
});

test("a NUL character produced by a policy is in no record", async () => {
  const effects = {
    "nul-told": { effect: "escalate", message: '{{"a" + string(b"\\x00")}} told' },
    "nul-set": { effect: "approve_modified", modify: [{ op: "set", path: "/y", value: '"a\\u0000b"' }] },
    "nul-name": { effect: "approve_modified", modify: [{ op: "set", path: "/y", value: '{"a\\x00": 1.0}' }] },
    "nul-failed": { effect: "escalate", when: '"%\\x00".format([1]) == "a"' },
  };
  for (const [name, spec] of Object.entries(effects)) {
    await inForce(name, { match: { verbs: [name] }, when: "true", ...spec });
    const { decision } = await submit(name, { x: 1 });
    expect(decision.verdict).toBe("escalate");
    expect(JSON.stringify(decision)).not.toContain("\\u0000");
  }
  expect((await send("GET", "/v1/overview")).status).toBe(200);
  expect((await send("GET", `/v1/escalations?reviewer=${org.org.org_id}`)).status).toBe(200);
});

test("the database can read every stored document", async () => {
  expect(await unreadableRecords(database.db)).toEqual([]);
});

// Must run last, because it damages the stored records of this organization.
test("an escalation whose stored record holds half a character can be decided and cancelled", async () => {
  const close = {
    decided: (path: string) => send("POST", `${path}/decision`, { outcome: "block" }, org.reviewer),
    cancelled: (path: string) => send("POST", `${path}/cancel`, {}, org.operator),
  };
  for (const [status, closing] of Object.entries(close)) {
    const { intent_id, decision } = await submit("tell", { text: "short" });
    const half = `update escalations set record = replace(record::text, '"hm. ', '"hm \\ud83d. ')::json where intent_id = $1`;
    await database.db.query(half, [intent_id]);
    const path = `/v1/escalations/${decision.escalation_id}`;
    expect((await send("GET", path)).json.escalation.reason).toMatch(halves);
    expect(await unreadableRecords(database.db)).toEqual([expect.stringMatching(/^escalations\.record: /)]);
    await closing(path);
    const { json } = await send("GET", `/v1/intents/${intent_id}/decision?wait=10`);
    expect(json.decision).toMatchObject({ status: "final", outcome: "block", escalation_status: status });
  }
});
