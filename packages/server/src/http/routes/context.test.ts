import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { call, type TestOrganization, testOrganization } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";

const database = await testDatabase();
const { db } = database;
let url: string;
let second: string;
let org: TestOrganization;
let admin: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
  ({ url: second } = await serviceNode(database));
  org = await testOrganization(db);
  admin = (await org.key()).api_key;
});

const document = (security: object, more = {}) => ({ contract_version: "1", facts: { security }, ...more });
const target = { type: "account", identifier: "IBAN/DE 12" };
const intent = { agent: { id: "agent-1" }, action: { type: "communication.email", verb: "send_email", target } };
const put = (path: string, body: unknown, key = admin) => call(url, "PUT", path, { key, body });
async function factOf(key: string, name: string, context?: unknown, base = url) {
  const made = await call(base, "POST", "/v1/intents", {
    key,
    body: { intent, ...(context === undefined ? {} : { context }) },
  });
  expect(made.status).toBe(201);
  const read = await call(base, "GET", `/v1/intents/${made.json.intent_id}`, { key: admin });
  return read.json.facts.security?.[name];
}

describe("PUT, GET and DELETE", () => {
  test.each([
    ["/v1/context/org", { scope: "org", agent_id: null, target: null }],
    ["/v1/context/agents/agent-1", { scope: "agent", agent_id: "agent-1", target: null }],
    ["/v1/context/targets/account/IBAN%2FDE%2012", { scope: "target", agent_id: null, target }],
  ])("%s stores one document, shows it, replaces it and removes it", async (path, subject) => {
    const own = await testOrganization(db);
    const key = (await own.key({ role: "operator" })).api_key;
    const get = () => call(url, "GET", path, { key });
    expect((await get()).status).toBe(404);
    const stored = await put(path, document({ siem_ref: "a" }), key);
    expect(stored.status).toBe(200);
    expect(stored.json.context).toMatchObject({ ...subject, document: document({ siem_ref: "a" }) });
    expect(stored.json.context.received_at).toMatch(/\.\d{6}Z$/);
    expect((await get()).json).toEqual(stored.json);
    await put(path, document({ siem_ref: "b" }), key);
    expect((await get()).json.context.document.facts.security.siem_ref).toBe("b");
    expect((await call(url, "DELETE", path, { key })).status).toBe(204);
    expect([(await get()).status, (await call(url, "DELETE", path, { key })).status]).toEqual([404, 404]);
  });

  test("agents and reviewers may not write, auditors may read, and other organizations see nothing", async () => {
    const path = "/v1/context/agents/shared";
    await put(path, document({ siem_ref: "mine" }));
    for (const role of ["agent", "reviewer", "auditor"] as const) {
      const { api_key } = await org.key({ role });
      expect((await put(path, document({}), api_key)).status).toBe(403);
      expect((await call(url, "DELETE", path, { key: api_key })).status).toBe(403);
      expect((await call(url, "GET", path, { key: api_key })).status).toBe(role === "auditor" ? 200 : 403);
    }
    const stranger = (await (await testOrganization(db)).key()).api_key;
    expect((await call(url, "GET", path, { key: stranger })).status).toBe(404);
  });

  test("400 invalid_context with every problem, and nothing is stored", async () => {
    const answer = await put("/v1/context/agents/broken", document({ siem_ref: 1, active_security_incident: "no" }));
    expect(answer.status).toBe(400);
    expect(answer.json.error.code).toBe("invalid_context");
    expect(answer.json.error.details).toHaveLength(2);
    expect((await call(url, "GET", "/v1/context/agents/broken", { key: admin })).status).toBe(404);
  });

  test.each([
    ["agent%E2%80%8B-1", "Remove the character U+200B: names have no control or format characters."],
    ["agent%0A1", "Remove the character U+000A: names have no control or format characters."],
    ["agent-1%20", "Remove the white space U+0020 around the name."],
  ])("facts for %s are refused, because no intent can come from such an agent", async (agent_id, message) => {
    const path = `/v1/context/agents/${agent_id}`;
    const refused = await put(path, document({ siem_ref: "a" }));
    expect(refused).toMatchObject({ status: 400, json: { error: { code: "invalid_request" } } });
    expect(refused.json.error.details).toEqual([{ path: "/agent_id", code: "forbidden_character", message }]);
    expect((await call(url, "GET", path, { key: admin })).status).toBe(404);
  });

  test("recipient_state is stored in upper case", async () => {
    const body = { contract_version: "1", facts: { regulatory: { recipient_state: "tx" } } };
    const stored = await put("/v1/context/agents/lower", body);
    expect(stored.json.context.document.facts.regulatory.recipient_state).toBe("TX");
  });
});

describe("POST /v1/context/validate", () => {
  test("answers 200 with findings for any document and any valid key", async () => {
    const { api_key } = await org.key({ role: "agent" });
    const validate = (body: unknown) => call(url, "POST", "/v1/context/validate", { key: api_key, body });
    expect((await validate(document({}))).json).toMatchObject({ valid: true, errors: [] });
    const bad = await validate({ facts: [] });
    expect(bad.status).toBe(200);
    expect(bad.json).toMatchObject({ valid: false });
    expect(bad.json.errors.map((error: { path: string }) => error.path).sort()).toEqual([
      "/contract_version",
      "/facts",
    ]);
    expect((await validate("not json")).status).toBe(400);
  });

  test.each([
    [
      "a key with a NUL character",
      '{"a\\u0000":1}',
      ["/facts/security forbidden_character", "/facts/security/a\u0000 bad_key"],
    ],
    ["a value with a NUL character", '{"siem_ref":"\\u0000"}', ["/facts/security/siem_ref forbidden_character"]],
    ["half a surrogate pair", '{"b":["\\ud800"]}', ["/facts/security/b/0 forbidden_character"]],
    ["a key named __proto__", '{"b":{"__proto__":{}}}', ["/facts/security/b/__proto__ forbidden_key"]],
    ["a number beyond a double", '{"b":1e999}', ["/facts/security/b not_a_number"]],
  ])("reports %s, which other operations refuse as an invalid body", async (_title, facts, places) => {
    const body = `{"contract_version":"1","facts":{"security":${facts}}}`;
    const { status, json } = await call(url, "POST", "/v1/context/validate", { key: admin, body });
    expect([status, json.valid, json.warnings]).toEqual([200, false, []]);
    expect(json.errors.map(({ path, code }: { path: string; code: string }) => `${path} ${code}`)).toEqual(places);
    expect((await put("/v1/context/org", body)).json.error.code).toBe("invalid_request");
  });
});

describe("deciding with pushed facts", () => {
  test("target beats agent beats organization beats inline, for each fact, and each names its source", async () => {
    const own = await testOrganization(db);
    const key = (await own.key()).api_key;
    await put("/v1/context/org", document({ a: "org", b: "org", c: "org" }), key);
    await put("/v1/context/agents/agent-1", document({ a: "agent", b: "agent" }), key);
    await put("/v1/context/targets/account/IBAN%2FDE%2012", document({ a: "target" }), key);
    const inline = document({ a: "inline", b: "inline", c: "inline", d: "inline" });
    const made = await call(url, "POST", "/v1/intents", { key, body: { intent, context: inline } });
    const { json } = await call(url, "GET", `/v1/intents/${made.json.intent_id}`, { key });
    const shown = Object.entries(json.facts.security).map(([name, fact]) => [
      name,
      (fact as { value: string }).value,
      (fact as { source: string }).source,
    ]);
    expect(shown).toEqual([
      ["a", "target", "target"],
      ["b", "agent", "agent"],
      ["c", "org", "org"],
      ["d", "inline", "inline"],
    ]);
  });

  test("an agent cannot override a stored alarm", async () => {
    const own = await testOrganization(db);
    const key = (await own.key()).api_key;
    await put("/v1/context/agents/agent-1", document({ prompt_injection_detected: true }), key);
    const { api_key } = await own.key({ role: "agent" });
    const body = { intent, context: document({ prompt_injection_detected: false }) };
    const { json } = await call(url, "POST", "/v1/intents", { key: api_key, body });
    expect(json.decision.verdict).toBe("block");
  });

  test("a fact stored through one node governs the next decision on another", async () => {
    for (let round = 0; round < 10; round++) {
      expect(await factOf(admin, "round", undefined, second)).toEqual(
        round === 0 ? undefined : expect.objectContaining({ value: round - 1 }),
      );
      await put("/v1/context/org", document({ round }));
      expect(await factOf(admin, "round", undefined, second)).toMatchObject({ value: round, source: "org" });
    }
    await call(url, "DELETE", "/v1/context/org", { key: admin });
    expect(await factOf(admin, "round", undefined, second)).toBeUndefined();
  });

  test("constant pushes of facts do not block decisions, and do not repeat a decision again and again", async () => {
    const asked = () => call(url, "POST", "/v1/intents", { key: admin, body: { intent } });
    const madeAgain = async () => {
      const { text } = await call(url, "GET", "/metrics", { key: admin });
      return Number(/^countersign_decisions_again_total (\d+)$/m.exec(text)?.[1]);
    };
    let done = false;
    let pushed = 0;
    const pushing = (async () => {
      for (; !done; pushed += 1) await put(`/v1/context/targets/busy/${pushed % 50}`, document({ siem_ref: "x" }));
    })();
    const submitted = await Promise.all(Array.from({ length: 30 }, asked));
    const again: { times: number; seconds: number }[] = [];
    for (let n = 0; n < 20; n += 1) {
      const before = await madeAgain();
      const started_ms = performance.now();
      submitted.push(await asked());
      const seconds = (performance.now() - started_ms) / 1_000;
      again.push({ times: (await madeAgain()) - before, seconds });
    }
    done = true;
    await pushing;
    expect(pushed).toBeGreaterThan(0);
    expect(submitted.map(({ status }) => status)).toEqual(Array(50).fill(201));
    // Pushes wait after three stale commits. An earlier push, an earlier read, and each second of a pause may add one
    // each.
    for (const { times, seconds } of again) expect(times).toBeLessThanOrEqual(8 + seconds);
    expect(again.some(({ times }) => times > 0)).toBe(true);
  });

  test("stale good news counts as missing, stale bad news still counts", async () => {
    const as_of = { security: new Date(Date.now() - 6 * 60_000).toISOString() };
    const run = async (prompt_injection_detected: boolean) => {
      const action = { type: "data.export", verb: "export" };
      const context = document(
        { prompt_injection_detected, active_security_incident: false, privilege_escalation_alert: false },
        { as_of },
      );
      const { json } = await call(url, "POST", "/v1/intents", {
        key: admin,
        body: { intent: { ...intent, action }, context },
      });
      return json.decision.reasons.find((reason: { policy: string }) => reason.policy === "security.prompt-injection");
    };
    expect(await run(true)).toMatchObject({ effect: "block" });
    const good = await run(false);
    expect(good).toMatchObject({
      effect: "escalate",
      unknown_facts: [{ path: "facts.security.prompt_injection_detected", reason: "stale" }],
    });
  });
});
