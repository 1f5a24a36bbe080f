import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { activatePolicy, replacePolicy } from "../../operations/policies/change-policy.ts";
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
  await goLive(admin);
});

const none = "pol_00000000000000000000000000";
const intent = (amount: number) => ({
  agent: { id: "agent-1" },
  action: { type: "vendor.pay", verb: "pay_vendor" },
  payload: { content: { amount } },
});
const over = (name: string, limit: number, more: object = {}) => ({
  apiVersion: "countersign/v1",
  kind: "Policy",
  metadata: { name, title: `Over ${limit}` },
  spec: { match: { actions: ["vendor.pay"] }, when: `params.amount > ${limit}`, effect: "block", on_unknown: "skip" },
  ...more,
});
const api = (method: string, path: string, body?: unknown, key = admin, headers: Record<string, string> = {}) =>
  call(url, method, `/v1/policies${path}`, { key, headers, ...(body === undefined ? {} : { body }) });
const submit = async (amount: number, base = url, key = admin) =>
  (await call(base, "POST", "/v1/intents", { key, body: { intent: intent(amount) } })).json.decision;
const save = async (policy: object, key = admin) => {
  const { status, json } = await api("POST", "", { policy }, key);
  expect(status).toBe(201);
  return json.policy as { policy_id: string; sha256: string };
};
const activate = (id: string, mode = "live", key = admin) => api("POST", `/${id}/activate`, { mode }, key);
const names = (decision: { reasons: { policy: string }[] }) => decision.reasons.map(({ policy }) => policy);
async function goLive(key: string) {
  const { json } = await call(url, "GET", "/v1/membranes", { key });
  await call(url, "POST", `/v1/membranes/${json.membranes[0].membrane_id}/go-live`, { key });
}

describe("saving", () => {
  test("201 saves a draft that does not affect decisions; reads, pages and repetitions agree", async () => {
    const headers = { "Idempotency-Key": "policy-1" };
    const policy = over("draft-only", 10);
    const made = await api("POST", "", { policy }, admin, headers);
    expect(made.status).toBe(201);
    expect(made.json.policy).toMatchObject({
      name: "draft-only",
      title: "Over 10",
      status: "draft",
      version: 1,
      active_version: null,
      document: policy,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const { policy_id } = made.json.policy;
    expect(made.headers.get("location")).toBe(`/v1/policies/${policy_id}`);
    const again = await api("POST", "", { policy }, admin, headers);
    expect([again.status, again.json]).toEqual([200, made.json]);
    expect((await api("POST", "", { policy: over("other", 10) }, admin, headers)).json.error.code).toBe(
      "idempotency_conflict",
    );
    expect((await api("GET", `/${policy_id}`)).json).toEqual({ policy: made.json.policy });
    await save(over("draft-too", 10));
    const first = await api("GET", "?limit=1&status=draft");
    expect(first.json.policies[0].name).toBe("draft-too");
    const rest = await api("GET", `?status=draft&cursor=${first.json.next_cursor}`);
    expect(rest.json).toEqual({ policies: [made.json.policy], next_cursor: null });
    expect((await submit(11)).verdict).toBe("approve");
  });

  test("422 returns every diagnostic with path, line, column, code, message and help", async () => {
    const policy = over("wrong", 1);
    const wrong = { ...policy, spec: { ...policy.spec, when: "parms.amount > 1", require: "1 +" } };
    const { status, json } = await api("POST", "", { policy: wrong });
    expect([status, json.error.code]).toEqual([422, "policy_invalid"]);
    expect(json.error.details.map(({ path }: { path: string }) => path)).toEqual(["/spec/when", "/spec/require"]);
    for (const each of json.error.details) {
      expect(Object.keys(each).sort()).toEqual(["code", "column", "help", "line", "message", "path"]);
      expect(each.line).toBeGreaterThan(1);
    }
    expect((await api("POST", "/check", { policy: wrong })).json).toEqual({
      valid: false,
      diagnostics: json.error.details,
      warnings: [],
    });
    expect((await api("POST", "/check", { policy })).json).toEqual({ valid: true, diagnostics: [], warnings: [] });
    const misspelt = { ...policy, spec: { ...policy.spec, when: "facts.security.active_securty_incident == true" } };
    expect((await api("POST", "/check", { policy: misspelt })).json).toMatchObject({
      valid: true,
      diagnostics: [],
      warnings: [{ path: "/spec/when", code: "undeclared_field" }],
    });
  });

  test("409 for a used name, also by renaming, also of a retired policy", async () => {
    const { policy_id } = await save(over("taken", 1));
    const other = await save(over("not-taken", 1));
    expect((await api("POST", "", { policy: over("taken", 2) })).status).toBe(409);
    expect((await api("PUT", `/${other.policy_id}`, { policy: over("taken", 2) })).json.error.code).toBe(
      "already_exists",
    );
    await api("POST", `/${policy_id}/retire`);
    expect((await api("POST", "", { policy: over("taken", 2) })).status).toBe(409);
    const answers = await Promise.all([1, 2, 3].map((limit) => api("POST", "", { policy: over("raced", limit) })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  });

  test("409 for the name of another policy in force, even if its newest version has a new one", async () => {
    const { policy_id } = await save(over("old-name", 1e9));
    await activate(policy_id);
    expect((await api("PUT", `/${policy_id}`, { policy: over("new-name", 1e9) })).status).toBe(200);
    const other = await save(over("third-name", 1e9));
    for (const answer of [
      await api("POST", "", { policy: over("old-name", 2) }),
      await api("PUT", `/${other.policy_id}`, { policy: over("old-name", 2) }),
      await api("PUT", `/${other.policy_id}`, { policy: over("new-name", 2) }),
    ])
      expect([answer.status, answer.json.error.code]).toEqual([409, "already_exists"]);
    expect((await api("PUT", `/${policy_id}`, { policy: over("old-name", 2) })).status).toBe(200);
    expect((await api("PUT", `/${policy_id}`, { policy: over("new-name", 2) })).status).toBe(200);
    await activate(policy_id);
    expect((await api("PUT", `/${other.policy_id}`, { policy: over("old-name", 2) })).status).toBe(200);
    await api("POST", `/${policy_id}/retire`);
  });

  test("409 for the policy after 1,000; a retired one makes room for another", async () => {
    const full = await testOrganization(db);
    const { api_key } = await full.key();
    const { policy_id } = await save(over("retired-later", 1), api_key);
    await db.query(
      `insert into policies (org_id, policy_id, name, status, version, active_version, created_at, updated_at)
       select $1, 'pol_' || n, 'policy-' || n, 'draft', 1, null, now(), now() from generate_series(1, 999) n`,
      [full.org_id],
    );
    const refused = await api("POST", "", { policy: over("one-more", 1) }, api_key);
    expect([refused.status, refused.json.error.code]).toEqual([409, "already_exists"]);
    expect((await api("POST", `/${policy_id}/retire`, undefined, api_key)).status).toBe(200);
    await save(over("one-more", 1), api_key);
    expect((await api("POST", "", { policy: over("two-more", 1) }, api_key)).status).toBe(409);
  });

  test("a new version does not change the old one in force until it is activated", async () => {
    const { policy_id } = await save(over("versions", 500));
    await activate(policy_id);
    const changed = await api("PUT", `/${policy_id}`, { policy: over("versions", 400) });
    expect(changed.json.policy).toMatchObject({ version: 2, active_version: 1, status: "live" });
    const same = await api("PUT", `/${policy_id}`, { policy: over("versions", 400) });
    expect(same.json).toEqual(changed.json);
    expect((await submit(450)).verdict).toBe("approve");
    expect((await activate(policy_id)).json.policy.active_version).toBe(2);
    const decision = await submit(450);
    expect([decision.verdict, names(decision)]).toEqual(["block", ["versions"]]);
    const first = await api("GET", `/${policy_id}/versions?limit=1`);
    expect(first.json.versions).toMatchObject([{ version: 2, created_by: expect.stringMatching(/^key_/) }]);
    const rest = await api("GET", `/${policy_id}/versions?cursor=${first.json.next_cursor}`);
    expect(rest.json).toMatchObject({ versions: [{ version: 1, document: over("versions", 500) }], next_cursor: null });
    await api("POST", `/${policy_id}/retire`);
  });
});

test("any key reads the schema of the document, as it is published", async () => {
  const agent = (await org.key({ role: "agent" })).api_key;
  const { status, json } = await call(url, "GET", "/v1/policies/schema", { key: agent });
  expect(status).toBe(200);
  const published = new URL("../../../../../docs/reference/policy.schema.json", import.meta.url);
  expect(json).toEqual(JSON.parse(readFileSync(published, "utf8")));
  expect((await call(url, "GET", "/v1/policies/schema", {})).status).toBe(401);
});

describe("in force", () => {
  test("a version saved while the cases of the previous one run is not activated without its own cases", async () => {
    const cases = (expected: string) => [
      { name: "c", intent: { agent: { id: "a" }, action: { verb: "v" } }, expect: { verdict: expected } },
    ];
    const { policy_id } = await save(over("meanwhile", 10, { tests: cases("approve") }));
    const clock = createClock();
    const needed = { db, clock, ids: createIds(clock) };
    const who = { org_id: org.org_id, key_id: null, session_id: null, actor: "test" };
    let isFirst = true;
    const between = {
      ...needed,
      packRules: () => [],
      db: {
        tenant: async (...args: Parameters<typeof db.tenant>) => {
          const read = await db.tenant(...args);
          if (isFirst) {
            isFirst = false;
            await replacePolicy(needed, who, policy_id, { policy: over("meanwhile", 20, { tests: cases("block") }) });
          }
          return read;
        },
      } as unknown as typeof db,
    };
    await expect(activatePolicy(between, who, policy_id, { mode: "live" })).rejects.toMatchObject({
      code: "policy_invalid",
    });
    expect((await api("GET", `/${policy_id}`)).json.policy).toMatchObject({ version: 2, active_version: null });
  });

  test("a block returns `would_approve_if`, the same when read again, and nothing if its policy withholds it", async () => {
    const { policy_id } = await save(over("offers", 100));
    await activate(policy_id);
    const body = { intent: intent(130) };
    const { json } = await call(url, "POST", "/v1/intents", { key: admin, body });
    expect(json.decision.would_approve_if).toEqual([{ path: "params.amount", op: "at_most", value: 100 }]);
    const read = await call(second, "GET", `/v1/intents/${json.intent_id}/decision`, { key: admin });
    expect(read.json.decision).toEqual(json.decision);
    expect(await submit(100)).toMatchObject({ verdict: "approve", would_approve_if: null });
    const withheld = over("offers", 100);
    await api("PUT", `/${policy_id}`, { policy: { ...withheld, spec: { ...withheld.spec, explain: false } } });
    await activate(policy_id);
    const agent = (await org.key({ role: "agent" })).api_key;
    expect(await submit(130, url, agent)).toMatchObject({ verdict: "block", would_approve_if: null });
    await api("POST", `/${policy_id}/retire`);
  });

  test("an activated policy affects the next decision on every node, a retired one no longer does", async () => {
    const { policy_id } = await save(over("everywhere", 100));
    for (const base of [url, second]) expect((await submit(101, base)).verdict).toBe("approve");
    const { json } = await activate(policy_id);
    expect(json.policy).toMatchObject({ status: "live", active_version: 1 });
    for (const base of [second, url]) {
      const decision = await submit(101, base);
      expect([decision.verdict, names(decision)]).toEqual(["block", ["everywhere"]]);
      expect(decision.reasons[0]).toMatchObject({ policy_id });
      expect((await submit(100, base)).verdict).toBe("approve");
    }
    const retired = await api("POST", `/${policy_id}/retire`);
    expect(retired.json.policy).toMatchObject({ status: "retired", active_version: null });
    for (const base of [second, url]) expect((await submit(101, base)).verdict).toBe("approve");
  });

  test("a policy in shadow is reported and never enforced", async () => {
    const { policy_id } = await save(over("only-watching", 1_000));
    expect((await activate(policy_id, "shadow")).json.policy.status).toBe("shadow");
    const decision = await submit(1_001);
    expect([decision.verdict, names(decision)]).toEqual(["approve", []]);
    const [row] = await db.query<{ data: object }>(
      "select data from audit where org_id = $1 and intent_id = $2 and type = 'decided'",
      [org.org_id, decision.intent_id],
    );
    expect(row?.data).toMatchObject({ verdict: "approve", shadow: [{ policy: "only-watching", effect: "block" }] });
    await api("POST", `/${policy_id}/retire`);
  });

  test("a new version in shadow replaces the one that was live", async () => {
    const { policy_id } = await save(over("turned-down", 2_000));
    await activate(policy_id);
    expect((await submit(2_001)).verdict).toBe("block");
    await api("PUT", `/${policy_id}`, { policy: over("turned-down", 1_999) });
    expect((await activate(policy_id, "shadow")).json.policy).toMatchObject({ status: "shadow", active_version: 2 });
    expect((await submit(2_001)).verdict).toBe("approve");
    await api("POST", `/${policy_id}/retire`);
  });

  test("it does not affect other organizations", async () => {
    const { policy_id } = await save(over("ours", 10_000));
    await activate(policy_id);
    const key = (await (await testOrganization(db)).key()).api_key;
    await goLive(key);
    expect((await submit(10_001)).verdict).toBe("block");
    expect((await submit(10_001, url, key)).verdict).toBe("approve");
    await save(over("ours", 1), key);
    await api("POST", `/${policy_id}/retire`);
  });

  test("a failed test refuses activation and names the different result", async () => {
    const red = { name: "a case", intent: intent(5), expect: { verdict: "block" } };
    const { json } = await api("POST", "", { policy: over("red", 10), tests: [red] });
    const { policy_id } = json.policy;
    expect(json.policy.document.tests).toEqual([red]);
    expect(json.diagnostics).toMatchObject([{ path: "/tests/0/expect/verdict", code: "test_failed" }]);
    const written = JSON.stringify(json.policy.document, null, 2).split("\n");
    const [{ line, column }] = json.diagnostics;
    expect(written[line - 1]?.slice(column - 1)).toBe('"block"');
    for (const mode of ["live", "shadow"]) {
      const refused = await activate(policy_id, mode);
      expect([refused.status, refused.json.error.code]).toEqual([422, "policy_invalid"]);
      expect(refused.json.error.details).toMatchObject([{ path: "/tests/0/expect/verdict", code: "test_failed" }]);
    }
    expect((await api("POST", "/check", { policy: over("red", 10), tests: [red] })).json.valid).toBe(false);
    const mended = await api("PUT", `/${policy_id}`, { policy: over("red", 4, { tests: [red] }) });
    expect(mended.json.diagnostics).toEqual([]);
    expect((await activate(policy_id, "shadow")).status).toBe(200);
    await api("POST", `/${policy_id}/retire`);
  });

  test("409 for a change without effect, and for any change of a retired policy", async () => {
    const { policy_id } = await save(over("states", 1e9));
    await activate(policy_id);
    expect((await activate(policy_id)).json.error.code).toBe("state_conflict");
    expect((await activate(policy_id, "shadow")).status).toBe(200);
    await api("POST", `/${policy_id}/retire`);
    for (const answer of [
      await api("POST", `/${policy_id}/retire`),
      await activate(policy_id),
      await api("PUT", `/${policy_id}`, { policy: over("states", 1) }),
    ])
      expect([answer.status, answer.json.error.code]).toEqual([409, "state_conflict"]);
  });

  test("a named version is activated only while it is the newest", async () => {
    const { policy_id } = await save(over("named-version", 1e9));
    await api("PUT", `/${policy_id}`, { policy: over("named-version", 2e9) });
    const named = (version: number) => api("POST", `/${policy_id}/activate`, { mode: "live", version });
    for (const version of [1, 3]) {
      const { status, json } = await named(version);
      expect([status, json.error.code]).toEqual([409, "state_conflict"]);
    }
    expect((await api("GET", `/${policy_id}`)).json.policy).toMatchObject({ status: "draft", active_version: null });
    expect((await named(2)).json.policy).toMatchObject({ status: "live", active_version: 2 });
    await api("POST", `/${policy_id}/retire`);
  });

  test("every change is in the audit trail", async () => {
    const { policy_id, sha256 } = await save(over("audited", 1e9));
    await activate(policy_id);
    await api("POST", `/${policy_id}/retire`);
    const rows = await db.query<{ type: string; data: Record<string, unknown> }>(
      "select type, data from audit where org_id = $1 and data->>'policy_id' = $2 order by seq",
      [org.org_id, policy_id],
    );
    expect(rows.map(({ type }) => type)).toEqual(["policy_saved", "policy_activated", "policy_retired"]);
    expect(rows[1]?.data).toMatchObject({ version: 1, sha256, mode: "live" });
  });
});

describe("refusals", () => {
  test("404 is the same for unknown and foreign policies", async () => {
    const { policy_id } = await save(over("mine", 1));
    const stranger = (await (await testOrganization(db)).key()).api_key;
    for (const [key, id] of [
      [stranger, policy_id],
      [admin, none],
    ] as const) {
      const answers = [
        await api("GET", `/${id}`, undefined, key),
        await api("GET", `/${id}/versions`, undefined, key),
        await api("PUT", `/${id}`, { policy: over("mine", 2) }, key),
        await activate(id, "live", key),
        await api("POST", `/${id}/retire`, undefined, key),
      ];
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
    }
  });

  test("400 for a body or cursor of another form, 401 without a key", async () => {
    expect((await api("POST", "", { policy: "text" })).status).toBe(400);
    expect((await api("POST", "", { policy: over("x", 1), more: 1 })).status).toBe(400);
    expect((await activate(none, "draft")).status).toBe(400);
    expect((await api("GET", "?cursor=x")).status).toBe(400);
    expect((await call(url, "GET", "/v1/policies", {})).status).toBe(401);
  });

  test("admins write; reviewers and auditors read and check; agents do neither", async () => {
    const { policy_id } = await save(over("roles", 1));
    const statuses = async (role: "reviewer" | "auditor" | "agent" | "operator") => {
      const key = (await org.key({ role })).api_key;
      return [
        (await api("GET", `/${policy_id}`, undefined, key)).status,
        (await api("POST", "/check", { policy: over("roles", 1) }, key)).status,
        (await api("POST", "", { policy: over("roles-2", 1) }, key)).status,
        (await activate(policy_id, "live", key)).status,
      ];
    };
    expect(await statuses("reviewer")).toEqual([200, 200, 403, 403]);
    expect(await statuses("auditor")).toEqual([200, 200, 403, 403]);
    expect(await statuses("agent")).toEqual([403, 403, 403, 403]);
  });
});
