import { limits } from "@countersign/contract";
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call, testOrganization } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { heldBody, reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";

const database = await testDatabase();
/** Does not move, so that "5 minutes ahead" is an exact time. */
const now_us = Date.parse("2026-11-21T12:00:00Z") * 1000;
const { url } = await serviceNode(database, { clock: { now_us: () => now_us } });
/** Uses real time, because the database ends escalations by its own clock. */
const node = await serviceNode(database);
let key = "";
let intent_id = "";
let membrane_id = "";
beforeAll(async () => {
  key = (await (await testOrganization(database.db, { now_us: () => now_us })).key()).api_key;
  intent_id = (await send("POST", "/v1/intents", { intent: heldBody.intent })).json.intent_id;
  membrane_id = (await send("GET", "/v1/membranes")).json.membranes[0].membrane_id;
});

const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}, as = key) =>
  call(url, method, path, { key: as, headers, ...(body === undefined ? {} : { body }) });
const chars = (n: number) => "m".repeat(n);
const list = <T>(n: number, item: (at: number) => T) => Array.from({ length: n }, (_, at) => item(at));
const intent = (more: object = {}, agent: object = {}, action: object = {}) => ({
  intent: { agent: { id: "a", ...agent }, action: { verb: "v", ...action }, ...more },
});
const submit = (body: unknown, headers = {}) => send("POST", "/v1/intents", body, headers);
const target = (more: object) => intent({}, {}, { target: more });
const membrane = (settings: object) => send("PATCH", `/v1/membranes/${membrane_id}`, settings);
const review = (more: object) => ({ timeout_seconds: 60, on_timeout: "block", reviewers: [], quorum: 1, ...more });
const document = (facts: object, more: object = {}) => ({ contract_version: "1", facts, ...more });
const keys = (n: number) => Object.fromEntries(list(n, (at) => [`key_${at}`, at]));
const hook = (body: object) => send("POST", "/v1/escalations/webhooks", { url: "https://hooks.example.com/", ...body });
const padded = (bytes: number, wrap: (content: object) => object) =>
  JSON.stringify(wrap({ pad: chars(bytes - JSON.stringify(wrap({ pad: "" })).length) }));
const single = (content: object) => intent({ payload: { content } });
const nested = (levels: number): unknown => (levels === 0 ? 0 : [nested(levels - 1)]);
const observe = (detail: string) =>
  send("POST", `/v1/intents/${intent_id}/observations`, { status: "executed", detail });
const policy = (name: string, spec: object, metadata: object = {}) => ({
  policy: {
    apiVersion: "countersign/v1",
    kind: "Policy",
    metadata: { name, ...metadata },
    spec: { when: "params.amount > 5", effect: "block", on_unknown: "skip", ...spec },
  },
});

type Answer = Awaited<ReturnType<typeof call>>;
/** Name, limit, request of size n, and the place, status and code of the refusal. */
type Edge = readonly [string, number, (n: number) => Promise<Answer>, RegExp, number?, string?];

const edges: readonly Edge[] = [
  ["bytes of a body", limits.body_bytes_max, (n) => submit(padded(n, single)), /^/, 413, "payload_too_large"],
  [
    "bytes of a batch",
    limits.batch_body_bytes_max,
    (n) =>
      send(
        "POST",
        "/v1/intents/batch",
        padded(n, (content) => ({ intents: [single(content)] })),
      ),
    /^/,
    413,
    "payload_too_large",
  ],
  [
    "intents in a batch",
    limits.batch_intents_max,
    (n) => send("POST", "/v1/intents/batch", { intents: list(n, () => intent()) }),
    /^\/intents$/,
  ],
  // Body, `intent`, `payload` and `content` are the first four levels.
  ["levels of a body", limits.json_depth_max, (n) => submit(single({ x: nested(n - 4) })), /^$/, 400, "invalid_json"],
  ["characters of agent.id", limits.agent_id_chars_max, (n) => submit(intent({}, { id: chars(n) })), /agent\/id$/],
  ["characters of agent.framework", limits.label_chars_max, (n) => submit(intent({}, { framework: chars(n) })), /k$/],
  ["characters of agent.session_id", limits.label_chars_max, (n) => submit(intent({}, { session_id: chars(n) })), /d$/],
  ["characters of agent.on_behalf_of", 256, (n) => submit(intent({}, { on_behalf_of: chars(n) })), /on_behalf_of$/],
  ["characters of action.verb", limits.verb_chars_max, (n) => submit(intent({}, {}, { verb: chars(n) })), /verb$/],
  [
    "characters of action.type",
    limits.action_type_chars_max,
    (n) => submit(intent({}, {}, { type: chars(n) })),
    /type$/,
  ],
  ["characters of target.type", limits.label_chars_max, (n) => submit(target({ type: chars(n) })), /target\/type$/],
  [
    "characters of target.identifier",
    limits.target_identifier_chars_max,
    (n) => submit(target({ type: "t", identifier: chars(n) })),
    /identifier$/,
  ],
  [
    "characters of the summary",
    limits.summary_chars_max,
    (n) => submit(intent({ payload: { summary: chars(n) } })),
    /summary$/,
  ],
  [
    "regulatory domains",
    limits.regulatory_domains_max,
    (n) => submit(intent({ estimated_impact: { regulatory_domains: list(n, String) } })),
    /regulatory_domains$/,
  ],
  ["data classes", limits.data_classes_max, (n) => submit(intent({ data_classes: list(n, String) })), /data_classes$/],
  [
    "characters of an Idempotency-Key",
    limits.idempotency_key_chars_max,
    (n) => submit(intent(), { "Idempotency-Key": chars(n) }),
    /Idempotency-Key$/,
  ],
  [
    "keys of a category, checked",
    limits.context_keys_per_category_max,
    (n) => checked(document({ security: keys(n) })),
    /^\/facts\/security$/,
  ],
  [
    "keys of a category, stored",
    limits.context_keys_per_category_max,
    (n) => send("PUT", "/v1/context/agents/other", document({ security: keys(n) })),
    /^\/facts\/security$/,
    400,
    "invalid_context",
  ],
  [
    "keys of a category, inline",
    limits.context_keys_per_category_max,
    (n) => submit({ ...intent(), context: document({ security: keys(n) }) }),
    /^\/context\/facts\/security$/,
    400,
    "invalid_context",
  ],
  [
    "characters of a fact's key",
    limits.context_key_chars_max,
    (n) => checked(document({ security: { [chars(n)]: 1 } })),
    /^\/facts\/security\/m+$/,
  ],
  [
    "seconds that as_of lies ahead",
    limits.as_of_ahead_seconds_max,
    (n) => checked(document({ security: {} }, { as_of: { security: at(n) } })),
    /^\/as_of\/security$/,
  ],
  ["characters of a membrane's name", limits.name_chars_max, (n) => membrane({ name: chars(n) }), /^\/name$/],
  [
    "seconds of an escalation",
    limits.escalation_timeout_seconds_max,
    (n) => membrane({ escalation: review({ timeout_seconds: n }) }),
    /timeout_seconds$/,
  ],
  ["quorum", limits.escalation_quorum_max, (n) => membrane({ escalation: review({ quorum: n }) }), /quorum$/],
  [
    "reviewers",
    limits.escalation_reviewers_max,
    (n) => membrane({ escalation: review({ reviewers: list(n, () => ({ type: "role", id: "reviewer" })) }) }),
    /reviewers$/,
  ],
  [
    "seconds that facts count",
    limits.facts_max_age_seconds_max,
    (n) => membrane({ facts_max_age: { security: n } }),
    /facts_max_age\/security$/,
  ],
  [
    "entries of an action catalogue",
    limits.action_catalogue_max,
    (n) => membrane({ action_catalogue: list(n, (at) => ({ verb: `v${at}`, type: "other", data_classes: [] })) }),
    /^\/action_catalogue$/,
  ],
  [
    "days that a key lives",
    limits.api_key_lifetime_days_max,
    (n) => send("POST", "/v1/api-keys", { expires_in_days: n }),
    /expires_in_days$/,
  ],
  [
    "seconds until a key expires",
    limits.api_key_lifetime_days_max * 86_400,
    (n) => {
      // The database's time decides and moves during the request, so exceed the limit by an hour.
      const beyond_ms = n > limits.api_key_lifetime_days_max * 86_400 ? 3_600_000 : 0;
      const expires_at = new Date(Date.now() + n * 1_000 + beyond_ms).toISOString();
      return send("POST", "/v1/api-keys", { expires_at });
    },
    /expires_at$/,
  ],
  [
    "characters of a key's name",
    limits.name_chars_max,
    (n) => send("POST", "/v1/api-keys", { name: chars(n) }),
    /name$/,
  ],
  [
    "characters of a key's agent",
    limits.agent_id_chars_max,
    (n) => send("POST", "/v1/api-keys", { scope: "agent", agent_id: chars(n) }),
    /agent_id$/,
  ],
  [
    "characters of a webhook's note",
    limits.description_chars_max,
    (n) => hook({ description: chars(n) }),
    /description$/,
  ],
  [
    "characters of a webhook's URL",
    limits.webhook_url_chars_max,
    (n) => hook({ url: "https://hooks.example.com/".padEnd(n, "m") }),
    /^\/url$/,
    400,
    "webhook_url_refused",
  ],
  ["event types", 100, (n) => hook({ event_types: list(n, () => "decision.blocked") }), /event_types$/],
  ["characters of an observation", limits.comment_chars_max, (n) => observe(chars(n)), /detail$/],
  [
    "characters of a policy's message",
    limits.policy_message_bytes_max,
    (n) => send("POST", "/v1/policies", policy(`message-${n}`, { message: chars(n) })),
    /message$/,
    422,
    "policy_invalid",
  ],
  [
    "tools of an intake",
    limits.intake_tools_max,
    (n) => send("POST", "/v1/onboarding/intake", { description: "d", tools: list(n, (at) => ({ name: `t${at}` })) }),
    /^\/tools$/,
  ],
  [
    "characters of an intake",
    limits.onboarding_text_chars_max,
    (n) => send("POST", "/v1/onboarding/intake", { description: chars(n) }),
    /description$/,
  ],
  [
    "characters of an organization's name",
    limits.name_chars_max,
    (n) => send("POST", "/v1/onboarding/quickstart", { org_name: chars(n), email: "a@example.com", description: "d" }),
    /org_name$/,
  ],
];

function at(seconds: number): string {
  return new Date(now_us / 1000 + seconds * 1000).toISOString();
}

/** Maps the errors of validation to the form of a refusal. */
async function checked(body: object): Promise<Answer> {
  const answer = await send("POST", "/v1/context/validate", body);
  const { valid, errors } = answer.json;
  return valid ? answer : { ...answer, status: 400, json: { error: { code: "invalid_request", details: errors } } };
}

const rows = edges.map(([name, max, request, place, status = 400, code = "invalid_request"]) => {
  return { name, max, request, place, status, code };
});

test.each(rows)("$name: $max and no more", async ({ max, request, place, status, code }) => {
  for (const n of [max - 1, max]) {
    const { status: taken, text } = await request(n);
    expect([200, 201], text.slice(0, 300)).toContain(taken);
  }
  const refused = await request(max + 1);
  expect([refused.status, refused.json.error.code]).toEqual([status, code]);
  if (status !== 413) expect(refused.json.error.details[0].path).toMatch(place);
});

test("lengths are counted in characters, not in UTF-16 units or bytes", async () => {
  const id = "😀".repeat(limits.agent_id_chars_max);
  expect((await submit(intent({}, { id }))).json.decision.agent_id).toBe(id);
  expect((await submit(intent({}, { id: `${id}😀` }))).status).toBe(400);
});

test("an item's idempotency key has 255 characters at most, and fails alone", async () => {
  const items = [255, 256].map((n) => ({ ...intent(), idempotency_key: chars(n) }));
  const { results } = (await send("POST", "/v1/intents/batch", { intents: items })).json;
  expect(results.map((result: { success: boolean }) => result.success)).toEqual([true, false]);
  expect(results[1].error.details[0].path).toBe("/intents/1/idempotency_key");
});

test.each(["a", "a_b9", "a".repeat(64), "", "A", "9a", "_a", "a-b", "a.b", "é", "a b", "__proto__x"])(
  "accepts the fact key %j exactly if its form is valid",
  async (name) => {
    const { status } = await checked(document({ organizational: { [name]: 1 } }));
    expect(status).toBe(/^[a-z][a-z0-9_]{0,63}$/.test(name) ? 200 : 400);
  },
);

test.each([
  ["0", 200],
  ["55", 200],
  ["56", 400],
  ["-1", 400],
  ["1.5", 400],
  ["", 400],
])("wait=%s on a final decision answers %i at once", async (wait, status) => {
  expect((await send("GET", `/v1/intents/${intent_id}/decision?wait=${wait}`)).status).toBe(status);
});

describe("a stored target of the longest name", () => {
  /** 1,024 incompressible characters, 4 KiB in UTF-8. */
  const long = (first: number) =>
    list(limits.target_identifier_chars_max, (n) => String.fromCodePoint(0x4e00 + ((first + n * 7_919) % 20_000))).join(
      "",
    );

  test("is stored, found only by intents that name it, and removed", async () => {
    const identifier = long(1);
    const path = `/v1/context/targets/t/${encodeURIComponent(identifier)}`;
    expect(path.length).toBeLessThan(10_000);
    const stored = await send("PUT", path, document({ security: { siem_ref: "long" } }));
    expect(stored.status).toBe(200);
    expect((await send("GET", path)).json.context.target).toEqual({ type: "t", identifier });
    const factOf = async (name: string) => {
      const made = await submit(target({ type: "t", identifier: name }));
      return (await send("GET", `/v1/intents/${made.json.intent_id}`)).json.facts.security?.siem_ref?.value;
    };
    expect([await factOf(identifier), await factOf(long(2))]).toEqual(["long", undefined]);
    expect((await send("DELETE", path)).status).toBe(204);
    expect((await send("GET", path)).status).toBe(404);
  });
});

describe.each(["from", "to"])("GET /v1/intents?%s=", (name) => {
  test.each([
    ["0000-01-01T00:00:00Z", 200],
    ["0001-01-01T00:00:00+15:59", 200],
    ["2026-01-01T00:00:00+23:59", 200],
    ["2026-01-01T00:00:00-16:00", 200],
    ["2016-12-31T23:59:60Z", 200],
    ["9999-12-31T23:59:59.999999Z", 200],
    ["9999-12-31T23:59:59-00:01", 400],
    ["0000-01-01T00:00:00+00:01", 400],
    ["2026-01-01 00:00:00Z", 400],
    ["2026-01-01T00:00:00+0100", 400],
    ["2026-02-30T00:00:00Z", 400],
    ["+275760-09-13T00:00:00Z", 400],
  ])("%s answers %i", async (time, status) => {
    expect((await send("GET", `/v1/intents?${name}=${encodeURIComponent(time)}`)).status).toBe(status);
  });
});

test("a comment has 4,000 characters at most, and an escalation 100 modifications", async () => {
  const org = await reviewedOrganization(database.db, node.url);
  const held = await call(node.url, "POST", "/v1/intents", { key: org.agent, body: heldBody });
  const path = `/v1/escalations/${held.json.decision.escalation_id}`;
  const decide = (body: object) => call(node.url, "POST", `${path}/decision`, { key: org.reviewer, body });
  const modifications = (n: number) => list(n, () => ({ op: "replace", path: "/replicas", value: 1 }));
  expect((await decide({ outcome: "block", comment: chars(limits.comment_chars_max + 1) })).status).toBe(400);
  expect((await decide({ outcome: "approve_modified", modifications: modifications(101) })).status).toBe(400);
  const comment = chars(limits.comment_chars_max);
  const ruled = await decide({ outcome: "approve_modified", comment, modifications: modifications(100) });
  expect([ruled.status, ruled.json.escalation?.resolution.comment]).toEqual([200, comment]);
});
