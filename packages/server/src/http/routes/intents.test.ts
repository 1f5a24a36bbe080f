import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { call, type TestOrganization, testOrganization } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";

const database = await testDatabase();
const { db } = database;
let url: string;
let org: TestOrganization;
let admin: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
  org = await testOrganization(db);
  admin = (await org.key()).api_key;
});

const intent = { agent: { id: "agent-1" }, action: { type: "communication.email", verb: "send_email" } };
const injected = { contract_version: "1", facts: { security: { prompt_injection_detected: true } } };
const submit = (key: string, body: unknown, headers = {}, query = "") =>
  call(url, "POST", `/v1/intents${query}`, { key, body, headers });

async function liveOrganization(): Promise<{ org: TestOrganization; admin: string; membrane_id: string }> {
  const live = await testOrganization(db);
  const key = (await live.key()).api_key;
  const listed = await call(url, "GET", "/v1/membranes", { key });
  const membrane_id = listed.json.membranes[0].membrane_id;
  expect((await call(url, "POST", `/v1/membranes/${membrane_id}/go-live`, { key })).status).toBe(200);
  return { org: live, admin: key, membrane_id };
}

describe("POST /v1/intents", () => {
  test("201 answers with the decision, its place, and every field of the record", async () => {
    const answer = await submit(admin, { intent });
    expect(answer.status).toBe(201);
    expect(answer.headers.get("location")).toBe(`/v1/intents/${answer.json.intent_id}`);
    expect(answer.json.intent_id).toMatch(/^int_[0-9A-HJKMNP-TV-Z]{26}$/);
    const { decision } = answer.json;
    expect(decision).toMatchObject({
      verdict: "approve",
      pipeline_mode: "shadow",
      enforced: false,
      outcome: "approve",
      status: "final",
    });
    expect(decision.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(Object.keys(decision)).toEqual([
      ...[
        "decision_id",
        "intent_id",
        "membrane_id",
        "agent_id",
        "verdict",
        "risk_score",
        "risk_contributions",
        "pipeline_mode",
      ],
      ...[
        "enforced",
        "outcome",
        "status",
        "reasons",
        "modifications",
        "modified_content",
        "would_approve_if",
        "human_override_id",
        "escalation_id",
      ],
      ...["escalation_status", "valid_until", "policy_set", "timestamp", "execution"],
    ]);
  });

  test("a fact that a security rule forbids blocks a live action and names the rule", async () => {
    const live = await liveOrganization();
    const { status, json } = await submit(live.admin, { intent, context: injected });
    expect(status).toBe(201);
    expect(json.decision).toMatchObject({ verdict: "block", outcome: "block", enforced: true, pipeline_mode: "live" });
    expect(json.decision.reasons.map((reason: { policy: string }) => reason.policy)).toContain(
      "security.prompt-injection",
    );
  });

  test("an escalation holds a live action: outcome null, pending, with its review opened", async () => {
    const live = await liveOrganization();
    const facts = { security: { active_security_incident: true, prompt_injection_detected: false } };
    const body = {
      intent: { ...intent, action: { type: "system.deploy", verb: "ship" } },
      context: { contract_version: "1", facts },
    };
    const { json } = await submit(live.admin, body);
    expect(json.decision).toMatchObject({
      verdict: "escalate",
      outcome: null,
      status: "pending",
      escalation_status: "pending",
    });
    expect(json.decision.escalation_id).toMatch(/^esc_/);
  });

  test.each([
    ["a test key decides in test mode", { environment: "test" }, "", "test", true],
    ["a shadow key decides in shadow", { environment: "shadow" }, "", "shadow", false],
    ["?mode=shadow decides in shadow", {}, "?mode=shadow", "shadow", false],
    ["?mode=shadow does not turn a test key into a shadow one", { environment: "test" }, "?mode=shadow", "test", true],
    ["else the membrane decides: live", {}, "", "live", true],
  ] as const)("%s", async (_title, key, query, mode, enforced) => {
    const live = await liveOrganization();
    const { api_key } = await live.org.key(key);
    const { json } = await submit(api_key, { intent }, {}, query);
    expect(json.decision).toMatchObject({ pipeline_mode: mode, enforced });
  });

  test("all problems are listed at once, also for a chunked body without a Content-Length", async () => {
    const agent = { id: 5, session_id: "\0" };
    const body = JSON.stringify({ intent: { agent, action: {}, data_classes: "pii" }, extra: 1 });
    const answer = await fetch(`${url}/v1/intents`, {
      method: "POST",
      headers: { "X-API-Key": admin, "Content-Type": "application/json" },
      body: new Blob([body]).stream(),
      duplex: "half",
    } as RequestInit);
    const { error } = (await answer.json()) as { error: { details: { path: string }[] } };
    expect(error.details.map((detail) => detail.path).sort()).toEqual([
      "/extra",
      "/intent/action/verb",
      "/intent/agent/id",
      "/intent/agent/session_id",
      "/intent/data_classes",
    ]);
  });

  test("400 for any other mode, an unknown query parameter and an unknown field", async () => {
    expect((await submit(admin, { intent }, {}, "?mode=live")).status).toBe(400);
    expect((await submit(admin, { intent }, {}, "?mood=shadow")).status).toBe(400);
    const typo = await submit(admin, { intent, contxt: {} });
    expect(typo.json.error).toMatchObject({ code: "invalid_request", details: [{ path: "/contxt" }] });
  });

  test("415 for a compressed body, as docs/reference/errors.md says", async () => {
    const { status, json } = await submit(admin, { intent }, { "Content-Encoding": "gzip" });
    expect([status, json.error.details[0].code]).toEqual([415, "not_allowed"]);
  });

  test("400 invalid_context points into the document of the request", async () => {
    const answer = await submit(admin, {
      intent,
      context: { contract_version: 1, facts: { security: { siem_ref: 4 } } },
    });
    expect(answer.json.error.code).toBe("invalid_context");
    const paths = answer.json.error.details.map((detail: { path: string }) => detail.path);
    expect(paths).toEqual(["/context/contract_version", "/context/facts/security/siem_ref"]);
  });

  test("problems of the context document are listed beside those of the intent, also for an item of a batch", async () => {
    const body = { intent: { ...intent, agent: {} }, context: { contract_version: "1", facts: { securty: {} } } };
    const paths = ({ details }: { details: { path: string }[] }) => details.map(({ path }) => path);
    const alone = await submit(admin, body);
    expect(alone.json.error.code).toBe("invalid_request");
    expect(paths(alone.json.error)).toEqual(["/intent/agent/id", "/context/facts/securty"]);
    const batch = await call(url, "POST", "/v1/intents/batch", { key: admin, body: { intents: [{ intent }, body] } });
    expect(paths(batch.json.results[1].error)).toEqual(
      alone.json.error.details.map(({ path }: { path: string }) => `/intents/1${path}`),
    );
  });

  test("a key of one agent submits only for that agent", async () => {
    const { api_key } = await org.key({ scope: "agent", role: "agent", agent_id: "agent-1" });
    expect((await submit(api_key, { intent })).status).toBe(201);
    const foreign = await submit(api_key, { intent: { ...intent, agent: { id: "agent-2" } } });
    expect(foreign.status).toBe(403);
    expect(foreign.json.error.code).toBe("forbidden");
    const listed = await call(url, "GET", "/v1/intents?agent_id=agent-2", { key: api_key });
    expect([listed.status, listed.json.error.details[0].code]).toEqual([403, "agent"]);
  });

  test("404 is the same for an unknown membrane and for another organization's", async () => {
    const other = await liveOrganization();
    const missing = await submit(admin, { intent, membrane_id: "mem_nope" });
    const foreign = await submit(admin, { intent, membrane_id: other.membrane_id });
    expect([missing.status, foreign.status]).toEqual([404, 404]);
    const anonymous = (text: string) => text.replace(/req_\w+/, "");
    expect(anonymous(foreign.text)).toBe(anonymous(missing.text));
  });

  test("the membrane's catalogue overrides the agent's declaration", async () => {
    const live = await liveOrganization();
    const action_catalogue = [{ verb: "ship", type: "system.deploy", data_classes: ["federal"] }];
    await call(url, "PATCH", `/v1/membranes/${live.membrane_id}`, { key: live.admin, body: { action_catalogue } });
    const facts = { security: { active_security_incident: true, prompt_injection_detected: false } };
    const body = {
      intent: { ...intent, action: { type: "other.harmless", verb: "ship" } },
      context: { contract_version: "1", facts },
    };
    const { json } = await submit(live.admin, body);
    expect(json.decision.verdict).toBe("escalate");
    const read = await call(url, "GET", `/v1/intents/${json.intent_id}`, { key: live.admin });
    expect(read.json.intent.decided_as).toEqual({ type: "system.deploy", data_classes: ["federal"] });
    expect(read.json.intent.action.type).toBe("other.harmless");
  });
});

describe("Idempotency-Key", () => {
  test("50 concurrent requests commit one decision; all others get the same one with 200", async () => {
    const headers = { "Idempotency-Key": "race-1" };
    const answers = await Promise.all(Array.from({ length: 50 }, () => submit(admin, { intent }, headers)));
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
    expect(answers.map((answer) => answer.status).sort()).toEqual([...Array(49).fill(200), 201]);
    const replays = answers.filter((answer) => answer.headers.get("idempotent-replayed") === "true");
    expect(replays.every((answer) => answer.status === 200)).toBe(true);
    expect(replays).toHaveLength(49);
  });

  test("the same key with another body or mode is 409; in another organization it is another key", async () => {
    const headers = { "Idempotency-Key": "conflict-1" };
    const { intent_id } = (await submit(admin, { intent }, headers)).json;
    const other = await submit(admin, { intent: { ...intent, agent: { id: "x" } } }, headers);
    expect(other.json.error).toMatchObject({ code: "idempotency_conflict", details: [{ intent_id }] });
    expect((await submit(admin, { intent }, headers, "?mode=shadow")).status).toBe(409);
    const elsewhere = (await (await testOrganization(db)).key()).api_key;
    expect((await submit(elsewhere, { intent }, headers)).status).toBe(201);
  });

  test.each([
    ["", 400],
    ["x".repeat(255), 201],
    ["x".repeat(256), 400],
    ["tab\there", 400],
  ])("a key of %j answers %i", async (key, status) => {
    expect((await submit(admin, { intent }, { "Idempotency-Key": key })).status).toBe(status);
  });
});

describe("reading", () => {
  test("the decision is returned byte for byte, with a strong ETag that answers 304", async () => {
    const made = await submit(admin, { intent });
    const path = `/v1/intents/${made.json.intent_id}/decision`;
    const read = await call(url, "GET", path, { key: admin });
    expect(`{"intent_id":"${made.json.intent_id}",${read.text.slice(1)}`).toBe(made.text);
    const etag = read.headers.get("etag") as string;
    expect(etag).toMatch(/^"[^"]+"$/);
    const again = await call(url, "GET", path, { key: admin, headers: { "If-None-Match": etag } });
    expect([again.status, again.text]).toEqual([304, ""]);
    expect((await call(url, "GET", path, { key: admin, headers: { "If-None-Match": '"other"' } })).status).toBe(200);
    expect((await call(url, "GET", `${path}?wait=1`, { key: admin })).text).toBe(read.text);
    expect((await call(url, "GET", `${path}?wait=56`, { key: admin })).status).toBe(400);
  });

  test("an intent shows the facts of its decision, each with its source and as-of", async () => {
    const as_of = new Date(Date.now() - 60_000).toISOString().replace("Z", "000Z");
    const facts = { security: { prompt_injection_detected: false }, identity: { clearance_status: "cleared" } };
    const made = await submit(admin, { intent, context: { contract_version: "1", facts, as_of: { security: as_of } } });
    const read = await call(url, "GET", `/v1/intents/${made.json.intent_id}`, { key: admin });
    const sent = { source: "inline", assurance: "attested" };
    expect(read.json.facts.security.prompt_injection_detected).toEqual({ value: false, ...sent, as_of });
    const cleared = { value: "cleared", ...sent, as_of: made.json.decision.timestamp };
    expect(read.json.facts.identity.clearance_status).toEqual(cleared);
    expect(read.json.intent).toMatchObject({
      ...intent,
      intent_id: made.json.intent_id,
      pipeline_mode: "shadow",
      submitted_by: { type: "key" },
    });
    expect(read.json.decision).toEqual(made.json.decision);
  });

  test("the audit lists the events in order, with hashes, oldest first and in pages", async () => {
    const made = await submit(admin, { intent });
    const path = `/v1/intents/${made.json.intent_id}`;
    await call(url, "POST", `${path}/observations`, {
      key: admin,
      body: { status: "executed", detail: { sent: true } },
    });
    const { json } = await call(url, "GET", `${path}/audit`, { key: admin });
    expect(json.audit.map((row: { type: string }) => row.type)).toEqual(["submitted", "decided", "observed"]);
    expect(json.audit[0].actor).toEqual({ type: "key", id: expect.stringMatching(/^key_/) });
    expect(json.audit[1].actor).toEqual({ type: "system", id: null });
    expect(json.audit.every((row: { hash: string }) => /^[0-9a-f]{64}$/.test(row.hash))).toBe(true);
    expect(json.audit[1].seq).toBe(json.audit[0].seq + 1);
    const first = await call(url, "GET", `${path}/audit?limit=2`, { key: admin });
    const rest = await call(url, "GET", `${path}/audit?limit=2&cursor=${first.json.next_cursor}`, { key: admin });
    expect([...first.json.audit, ...rest.json.audit]).toEqual(json.audit);
    expect(rest.json.next_cursor).toBeNull();
  });

  test("lists are sorted newest first, can be filtered, and page without gaps", async () => {
    const own = await testOrganization(db);
    const key = (await own.key()).api_key;
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      const made = await submit(key, {
        intent: { ...intent, agent: { id: n % 2 === 0 ? "even" : "odd" } },
        ...(n === 4 ? { context: injected } : {}),
      });
      ids.unshift(made.json.intent_id);
    }
    const list = async (query: string) => (await call(url, "GET", `/v1/intents${query}`, { key })).json;
    const idsOf = (page: { intents: { intent_id: string }[] }) => page.intents.map((each) => each.intent_id);
    expect(idsOf(await list(""))).toEqual(ids);
    expect(idsOf(await list("?agent_id=odd"))).toEqual([ids[1], ids[3]]);
    expect(idsOf(await list("?verdict=block&mode=shadow"))).toEqual([ids[0]]);
    expect(idsOf(await list("?mode=live"))).toEqual([]);
    const first = await list("?limit=2");
    const second = await list(`?limit=2&cursor=${first.next_cursor}`);
    const third = await list(`?limit=2&cursor=${second.next_cursor}`);
    expect([...idsOf(first), ...idsOf(second), ...idsOf(third)]).toEqual(ids);
    expect(third.next_cursor).toBeNull();
    for (const bad of ["?limit=0", "?limit=201", "?cursor=zzz", "?from=yesterday", "?verdict=deny"]) {
      expect((await call(url, "GET", `/v1/intents${bad}`, { key })).status, bad).toBe(400);
    }
  });

  test("a page of large intents ends after 4 MiB, and its cursor continues without a gap", async () => {
    const own = await testOrganization(db);
    const key = (await own.key()).api_key;
    const ids: string[] = [];
    for (let n = 0; n < 9; n += 1) {
      // Compressible, because the size on disk must not matter.
      const payload = { content: { text: "x".repeat(n === 4 ? 10 : 1_000_000) } };
      ids.unshift((await submit(key, { intent: { ...intent, payload } })).json.intent_id);
    }
    const pages: string[][] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? "" : `&cursor=${cursor}`;
      const { json } = await call(url, "GET", `/v1/intents?limit=8${query}`, { key });
      pages.push(json.intents.map((each: { intent_id: string }) => each.intent_id));
      cursor = json.next_cursor;
    } while (cursor !== null);
    expect(pages.flat()).toEqual(ids);
    expect(pages.map((page) => page.length)).toEqual([6, 3]);
  });

  test("keys of agents see only their own intents; those of others answer like unknown ids", async () => {
    const made = await submit(admin, { intent });
    const mine = (await org.key({ role: "agent" })).api_key;
    const bound = (await org.key({ scope: "agent", role: "agent", agent_id: "agent-1" })).api_key;
    const stranger = (await (await testOrganization(db)).key()).api_key;
    const auditor = (await org.key({ role: "auditor" })).api_key;
    const own = await submit(mine, { intent });
    const read = async (key: string, id: string, rest = "") =>
      (await call(url, "GET", `/v1/intents/${id}${rest}`, { key })).status;
    const foreign = made.json.intent_id;
    for (const rest of ["", "/decision", "/audit"]) {
      expect(await read(mine, own.json.intent_id, rest)).toBe(200);
      expect(await read(mine, foreign, rest)).toBe(404);
      expect(await read(stranger, foreign, rest)).toBe(404);
      expect(await read(auditor, foreign, rest)).toBe(200);
      expect(await read(bound, foreign, rest)).toBe(200);
      expect(await read(admin, "int_nonsense", rest)).toBe(404);
    }
    const listed = await call(url, "GET", "/v1/intents", { key: mine });
    expect(listed.json.intents.map((each: { intent_id: string }) => each.intent_id)).toEqual([own.json.intent_id]);
    expect((await call(url, "GET", "/v1/intents?agent_id=agent-9", { key: bound })).status).toBe(403);
  });
});

describe("POST /v1/intents/{intent_id}/observations", () => {
  test("201 records, a repetition under one key answers 200, and read-only roles are refused", async () => {
    const made = await submit(admin, { intent });
    const path = `/v1/intents/${made.json.intent_id}/observations`;
    const body = { status: "failed", detail: "mailbox full" };
    const headers = { "Idempotency-Key": made.json.intent_id };
    const first = await call(url, "POST", path, { key: admin, body, headers });
    expect(first.status).toBe(201);
    expect(first.json.observation).toMatchObject({ ...body, intent_id: made.json.intent_id });
    const again = await call(url, "POST", path, { key: admin, body, headers });
    expect([again.status, again.text]).toEqual([200, first.text]);
    const auditor = (await org.key({ role: "auditor" })).api_key;
    expect((await call(url, "POST", path, { key: auditor, body })).status).toBe(403);
    expect((await call(url, "POST", path, { key: admin, body: { status: "done" } })).status).toBe(400);
    const missing = "/v1/intents/int_00000000000000000000000000/observations";
    expect((await call(url, "POST", missing, { key: admin, body })).status).toBe(404);
  });

  test.each([
    ["a text", "mailbox full"],
    ["an object", { tries: 3, codes: [450, 452], last: { at: "10:00" } }],
    ["absent", undefined],
  ])("are in the trail with their detail: %s", async (_name, detail) => {
    const made = await submit(admin, { intent });
    const path = `/v1/intents/${made.json.intent_id}`;
    const observed = await call(url, "POST", `${path}/observations`, {
      key: admin,
      body: { status: "failed", detail },
    });
    const { json } = await call(url, "GET", `${path}/audit`, { key: admin });
    expect(json.audit.at(-1)).toMatchObject({
      type: "observed",
      data: {
        observation_id: observed.json.observation.observation_id,
        status: "failed",
        detail: detail ?? null,
      },
    });
  });
});
