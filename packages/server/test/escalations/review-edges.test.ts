import { limits } from "@countersign/contract";
import { beforeAll, describe, expect, test } from "vitest";
import { createClock } from "../../src/edge/clock.ts";
import { markRevoked } from "../../src/store/keys/keys.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { blockedBody, heldBody, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
const { db } = database;
let url: string;
let org: Reviewed;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
  org = await reviewedOrganization(db, url);
});

const post = (path: string, key: string, body: unknown, base = url) => call(base, "POST", path, { key, body });
const get = (path: string, key: string) => call(url, "GET", path, { key });
async function held(of: Reviewed = org, body: object = heldBody, base = url) {
  const { json } = await post("/v1/intents", of.agent, body, base);
  expect(json.decision.verdict).toBe("escalate");
  return { intent_id: json.intent_id as string, path: `/v1/escalations/${json.decision.escalation_id}` };
}
const blocking = () => reviewedOrganization(db, url, { default_verdict: "block", packs: [] });
const plain = { intent: blockedBody.intent };
async function blocked(of: Reviewed, body: object = plain, base = url): Promise<string> {
  const { json } = await post("/v1/intents", of.agent, body, base);
  expect(json.decision.verdict).toBe("block");
  return json.intent_id;
}

describe("texts of people", () => {
  const max = limits.comment_chars_max;
  const bodies: [string, (text: string) => object, string, keyof Reviewed][] = [
    ["decision", (comment) => ({ outcome: "approve", comment }), "/comment", "reviewer"],
    ["cancel", (reason) => ({ reason }), "/reason", "operator"],
    ["reassign", (reason) => ({ reviewers: [{ type: "role", id: "operator" }], reason }), "/reason", "operator"],
  ];

  test.each(bodies)(
    `%s accepts ${max - 1} and ${max} characters of any kind, and no more`,
    async (act, body, path, who) => {
      const key = org[who] as string;
      for (const text of ["x".repeat(max + 1), "x".repeat(10_000), "😀".repeat(max + 1)]) {
        const { path: at } = await held();
        const { status, json } = await post(`${at}/${act}`, key, body(text));
        expect([status, json.error.code, json.error.details[0].path]).toEqual([400, "invalid_request", path]);
        expect((await get(at, org.reviewer)).json.escalation).toMatchObject({ status: "pending", votes: [] });
      }
      for (const text of ["x".repeat(max - 1), "x".repeat(max), "😀".repeat(max), ""]) {
        const { path: at } = await held();
        expect((await post(`${at}/${act}`, key, body(text))).status).toBe(200);
      }
    },
  );

  test("a cancellation needs no reason and no body", async () => {
    const { path } = await held();
    const { status, json } = await call(url, "POST", `${path}/cancel`, { key: org.operator });
    expect([status, json.escalation?.status]).toEqual([200, "cancelled"]);
  });

  test("the reason of an override accepts the same number, and at least one", async () => {
    const own = await blocking();
    for (const reason of ["x".repeat(max + 1), "x".repeat(10_000), "", 5, null, ["x"]]) {
      const { status, json } = await post(`/v1/intents/${await blocked(own)}/override`, own.operator, { reason });
      expect([status, json.error.code]).toEqual([400, "invalid_request"]);
    }
    for (const [n, reason] of ["x", "x".repeat(max - 1), "x".repeat(max)].entries()) {
      const body = { intent: { ...plain.intent, payload: { content: { n } } } };
      expect((await post(`/v1/intents/${await blocked(own, body)}/override`, own.operator, { reason })).status).toBe(
        201,
      );
    }
  });

  test("NUL and half characters are refused, and nothing happens", async () => {
    const { path } = await held();
    for (const text of ['{"outcome":"approve","comment":"\\u0000"}', '{"outcome":"approve","comment":"\\ud800"}']) {
      const { status, json } = await call(url, "POST", `${path}/decision`, { key: org.reviewer, body: text });
      expect([status, json.error.code]).toEqual([400, "invalid_request"]);
    }
    expect((await get(path, org.reviewer)).json.escalation.votes).toEqual([]);
  });

  test("control and direction characters are returned unchanged, as data", async () => {
    const { path } = await held();
    const comment = "\u202etxt.exe\u001b[31m<script>alert(1)</script>\u200b";
    await post(`${path}/decision`, org.reviewer, { outcome: "block", comment });
    expect((await get(path, org.reviewer)).json.escalation.resolution.comment).toBe(comment);
  });
});

describe("patches", () => {
  const ruling = (...modifications: object[]) => ({ outcome: "approve_modified", modifications });
  const content = { version: 4, replicas: 2, list: [1, 2], text: "abc", "a/b": 1, "m~n": 2 };
  const body = { ...heldBody, intent: { ...heldBody.intent, payload: { content } } };

  test.each<[string, object[]]>([
    ["names the whole content", [{ op: "replace", path: "", value: {} }]],
    ["has a path without a slash", [{ op: "replace", path: "version", value: 1 }]],
    ["goes into a text", [{ op: "replace", path: "/text/0", value: "x" }]],
    ["goes into a number", [{ op: "add", path: "/version/x", value: 1 }]],
    ["names an entry behind the end of a list", [{ op: "add", path: "/list/3", value: 1 }]],
    ["names an entry with a leading zero", [{ op: "replace", path: "/list/01", value: 1 }]],
    ["names a negative entry", [{ op: "remove", path: "/list/-1" }]],
    ["removes the end of a list", [{ op: "remove", path: "/list/-" }]],
    ["names a property of lists", [{ op: "replace", path: "/list/length", value: 0 }]],
    ["replaces what objects inherit", [{ op: "replace", path: "/toString", value: 1 }]],
    ["removes a constructor", [{ op: "remove", path: "/constructor" }]],
    ["goes into a constructor of a list", [{ op: "add", path: "/list/constructor/prototype/x", value: 1 }]],
    ["names a prototype in escapes", [{ op: "add", path: "/list/__proto__", value: 1 }]],
    [
      "fails at its second step",
      [
        { op: "replace", path: "/version", value: 5 },
        { op: "remove", path: "/none" },
      ],
    ],
    ["has an unknown field", [{ op: "remove", path: "/version", from: "/x" }]],
    ["has another operation", [{ op: "test", path: "/version", value: 4 }]],
    ["has 101 steps", Array(101).fill({ op: "replace", path: "/version", value: 5 })],
    ["has a path of 1,001 characters", [{ op: "add", path: `/${"x".repeat(1_000)}`, value: 1 }]],
  ])("400 when one %s, and nothing happens", async (_title, modifications) => {
    const { path, intent_id } = await held(org, body);
    const { status, json } = await post(`${path}/decision`, org.reviewer, ruling(...modifications));
    expect([status, json.error.code]).toEqual([400, "invalid_request"]);
    expect(json.error.details[0].path).toMatch(/^\/modifications/);
    expect((await get(path, org.reviewer)).json.escalation).toMatchObject({ status: "pending", votes: [] });
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
    const stored = (await get(`/v1/intents/${intent_id}/decision`, org.agent)).json.decision;
    expect(stored).toMatchObject({ outcome: null, modified_content: null });
  });

  test("a key __proto__ in a value is refused before anybody copies it", async () => {
    const { path } = await held(org, body);
    const text =
      '{"outcome":"approve_modified","modifications":[{"op":"add","path":"/x","value":{"__proto__":{"y":1}}}]}';
    const { status, json } = await call(url, "POST", `${path}/decision`, { key: org.reviewer, body: text });
    expect([status, json.error.details[0].code]).toEqual([400, "forbidden_key"]);
  });

  test("100 steps, escaped names, list ends and names of built-in members are applied as written", async () => {
    const { path, intent_id } = await held(org, body);
    const steps = [
      { op: "replace", path: "/a~1b", value: 10 },
      { op: "replace", path: "/m~0n", value: 20 },
      { op: "add", path: "/list/-", value: 3 },
      { op: "add", path: "/constructor", value: { prototype: 1 } },
      ...Array(96).fill({ op: "replace", path: "/version", value: 5 }),
    ];
    expect((await post(`${path}/decision`, org.reviewer, ruling(...steps))).status).toBe(200);
    const { decision } = (await get(`/v1/intents/${intent_id}/decision`, org.agent)).json;
    const { version, list, constructor: added } = decision.modified_content;
    expect([version, list, added]).toEqual([5, [1, 2, 3], { prototype: 1 }]);
    expect([decision.modified_content["a/b"], decision.modified_content["m~n"]]).toEqual([10, 20]);
  });
});

describe("ids", () => {
  const none = "00000000000000000000000000";

  test.each(["x", `esc_${none}`, `ESC_${none}`, `int_${none}`, "%00", "%F0%9F%98%80", "..%2Fx", "a".repeat(129)])(
    "%j names no escalation, intent or override",
    async (id) => {
      const own = org.operator;
      const answers = [
        await get(`/v1/escalations/${id}`, own),
        await post(`/v1/escalations/${id}/decision`, own, { outcome: "block" }),
        await post(`/v1/escalations/${id}/cancel`, own, {}),
        await post(`/v1/escalations/${id}/reassign`, own, { reviewers: [{ type: "role", id: "admin" }] }),
        await post(`/v1/intents/${id}/override`, own, { reason: "x" }),
        await call(url, "DELETE", `/v1/overrides/${id}`, { key: own }),
      ];
      expect(answers.map(({ status, json }) => [status, json.error.code])).toEqual(Array(6).fill([404, "not_found"]));
    },
  );
});

describe("who overrides", () => {
  test("the creator of the submitting key may; the key itself and its successor may not", async () => {
    const own = await blocking();
    const made = (await post("/v1/api-keys", own.admin, { role: "operator" })).json;
    const { json } = await post("/v1/intents", made.api_key, plain);
    const override = (key: string) => post(`/v1/intents/${json.intent_id}/override`, key, { reason: "x" });
    expect((await override(made.api_key)).json.error.code).toBe("self_review");
    const rotated = (await post(`/v1/api-keys/${made.key_id}/rotate`, made.api_key, undefined)).json;
    const refused = await override(rotated.api_key);
    expect([refused.status, refused.json.error.code]).toEqual([403, "self_review"]);
    expect((await override(own.admin)).status).toBe(201);
  });

  test("an override is valid in one organization: the same action in another one stays blocked", async () => {
    const [one, two] = [await blocking(), await blocking()];
    expect((await post(`/v1/intents/${await blocked(one)}/override`, one.operator, { reason: "x" })).status).toBe(201);
    expect((await post("/v1/intents", two.agent, plain)).json.decision.verdict).toBe("block");
    expect((await post("/v1/intents", one.agent, plain)).json.decision.verdict).toBe("approve");
  });
});

describe("a key that is revoked while its request waits for the organization's head", () => {
  const live = { default_verdict: "escalate", packs: [] };
  const blocks = { default_verdict: "block", packs: [] };
  const overridden = async (of: Reviewed) => {
    const { json } = await post(`/v1/intents/${await blocked(of)}/override`, of.admin, { reason: "seen" });
    return `/v1/overrides/${json.override.override_id}`;
  };
  const reviewers = [{ type: "role", id: "admin" }];
  test.each<[string, object, string, (of: Reviewed) => Promise<string>, object | undefined]>([
    ["decides nothing", live, "POST", async (of) => `${(await held(of, plain)).path}/decision`, { outcome: "approve" }],
    ["cancels nothing", live, "POST", async (of) => `${(await held(of, plain)).path}/cancel`, {}],
    ["hands nothing on", live, "POST", async (of) => `${(await held(of, plain)).path}/reassign`, { reviewers }],
    ["overrides nothing", blocks, "POST", async (of) => `/v1/intents/${await blocked(of)}/override`, { reason: "x" }],
    ["revokes no override", blocks, "DELETE", overridden, undefined],
  ])("%s", async (_title, settings, method, pathOf, body) => {
    const own = await reviewedOrganization(db, url, settings);
    const { api_key, key_id } = await own.org.key({ role: "operator" });
    const path = await pathOf(own);
    let answer: ReturnType<typeof call> | undefined;
    await db.system(async (query) => {
      await query("select from org_heads where org_id = $1 for update", [own.org.org_id]);
      const [me] = await query<{ pid: number }>("select pg_backend_pid() as pid");
      answer = call(url, method, path, { key: api_key, ...(body && { body }) });
      const waiting = "select from pg_locks where not granted and $1::integer = any(pg_blocking_pids(pid))";
      await expect.poll(async () => (await db.query(waiting, [me?.pid])).length).toBeGreaterThan(0);
      expect(await markRevoked(query, own.org.org_id, key_id, new Date().toISOString())).toBe(true);
      await query("update org_heads set auth_epoch = auth_epoch + 1 where org_id = $1", [own.org.org_id]);
    });
    const { status, json } = (await answer) as Awaited<ReturnType<typeof call>>;
    expect([status, json?.error.code]).toEqual([401, "invalid_api_key"]);
  });
});

describe("the quota and overrides", () => {
  test("a retry refused by the quota does not spend the override", async () => {
    const own = await blocking();
    await post(`/v1/intents/${await blocked(own)}/override`, own.operator, { reason: "x" });
    const limit = (more: number) =>
      db.query("update org_heads set hard_limit = usage_used + $2::bigint where org_id = $1", [own.org.org_id, more]);
    const { action } = plain.intent;
    const other = { intent: { ...plain.intent, action: { ...action, verb: "other" } } };
    // Makes the node cache the override, because items that are decided again have no order.
    await post("/v1/intents", own.agent, other);
    // The first item uses the last unit. Both retries share its statement.
    await limit(1);
    const { json } = await post("/v1/intents/batch", own.agent, { intents: [other, plain, plain] });
    const outcomes = json.results.map((each: { error?: { code: string }; decision?: { verdict: string } }) =>
      each.error === undefined ? each.decision?.verdict : each.error.code,
    );
    expect(outcomes).toEqual(["block", "quota_exceeded", "quota_exceeded"]);
    const status = async () => (await get("/v1/overrides", own.reviewer)).json.overrides[0].status;
    expect(await status()).toBe("active");
    await limit(1);
    const both = await Promise.all([post("/v1/intents", own.agent, plain), post("/v1/intents", own.agent, plain)]);
    expect(both.map((each) => each.json.decision?.verdict ?? each.json.error.code).sort()).toEqual([
      "approve",
      "quota_exceeded",
    ]);
    expect(await status()).toBe("consumed");
  });
});

describe("human_reviewed", () => {
  const policy = (name: string, spec: object) => ({
    apiVersion: "countersign/v1",
    kind: "Policy",
    metadata: { name, title: name },
    spec: { match: { actions: ["data.export"] }, ...spec },
  });
  const body = (rows: number, more: object = {}) => ({
    intent: {
      agent: { id: "a" },
      action: { type: "data.export", verb: "export" },
      payload: { content: { rows, ...more } },
    },
  });
  let own: Reviewed;
  beforeAll(async () => {
    own = await reviewedOrganization(db, url, { packs: [] });
    const policies = [
      policy("look-first", { when: "!(has(params.human_reviewed) && params.human_reviewed)", effect: "escalate" }),
      policy("bulk-seen", {
        when: "params.rows > 500",
        require: "has(params.human_reviewed) && params.human_reviewed == true",
        effect: "block",
      }),
    ];
    for (const each of policies) {
      const { json } = await post("/v1/policies", own.admin, { policy: each });
      expect((await post(`/v1/policies/${json.policy.policy_id}/activate`, own.admin, { mode: "live" })).status).toBe(
        200,
      );
    }
  });
  const verdict = async (key: string, of: object) => (await post("/v1/intents", key, of)).json.decision.verdict;

  test("cannot be claimed by an agent in any spelling, nor gained through an approval", async () => {
    for (const claim of [true, "true", 1]) {
      expect(await verdict(own.agent, body(5, { human_reviewed: claim }))).toBe("escalate");
      expect(await verdict(own.agent, body(501, { human_reviewed: claim }))).toBe("block");
    }
    const { path } = await held(own, body(7));
    await post(`${path}/decision`, own.reviewer, { outcome: "approve" });
    expect(await verdict(own.agent, body(7, { human_reviewed: true }))).toBe("escalate");
  });

  test("counts if the attester may attest", async () => {
    expect(await verdict(own.reviewer, body(501, { human_reviewed: true }))).toBe("approve");
    expect(await verdict(own.reviewer, body(501))).toBe("block");
  });

  test("is visible to policies that check a reviewer's change", async () => {
    const { path, intent_id } = await held(own, body(5));
    const modifications = [{ op: "replace", path: "/rows", value: 501 }];
    const ruled = await post(`${path}/decision`, own.reviewer, { outcome: "approve_modified", modifications });
    expect(ruled.status).toBe(200);
    const { decision } = (await get(`/v1/intents/${intent_id}/decision`, own.agent)).json;
    expect(decision).toMatchObject({ outcome: "approve_modified", modified_content: { rows: 501 } });
    expect(decision.modified_content).not.toHaveProperty("human_reviewed");
  });
});

describe("a node whose clock is wrong", () => {
  const real = createClock();
  test.each([
    ["a day behind", -86_400],
    ["a day ahead", 86_400],
  ])("%s does not change the outcome: deadlines follow the database", async (_title, seconds) => {
    const { url: wrong } = await serviceNode(database, {
      clock: { now_us: () => real.now_us() + seconds * 1_000_000 },
    });
    const inTime = await held();
    expect((await post(`${inTime.path}/decision`, org.reviewer, { outcome: "approve" }, wrong)).status).toBe(200);
    const { escalation } = (await get(inTime.path, org.reviewer)).json;
    expect(Math.abs(Date.parse(escalation.closed_at) - Date.now())).toBeLessThan(3_600_000);
    const late = await held();
    await db.query("update escalations set expires_at = clock_timestamp() where escalation_id = $1", [
      late.path.slice("/v1/escalations/".length),
    ]);
    const refused = await post(`${late.path}/decision`, org.reviewer, { outcome: "approve" }, wrong);
    expect([refused.status, refused.json.error.code]).toEqual([409, "escalation_closed"]);

    const own = await blocking();
    const given = await post(`/v1/intents/${await blocked(own)}/override`, own.operator, { reason: "x" }, wrong);
    expect(Math.abs(Date.parse(given.json.override.approved_at) - Date.now())).toBeLessThan(3_600_000);
    expect((await post("/v1/intents", own.agent, plain, wrong)).json.decision.verdict).toBe("approve");
    await post(`/v1/intents/${await blocked(own)}/override`, own.operator, { reason: "x" });
    await db.query("update overrides set expires_at = clock_timestamp() where org_id = $1 and status = 'active'", [
      own.org.org_id,
    ]);
    expect((await post("/v1/intents", own.agent, plain, wrong)).json.decision.verdict).toBe("block");
  });

  test.each([
    ["a day behind", -86_400],
    ["a day ahead", 86_400],
    ["ten minutes behind", -600],
  ])("%s opens reviews with their full time", async (_title, seconds) => {
    const { url: wrong } = await serviceNode(database, {
      clock: { now_us: () => real.now_us() + seconds * 1_000_000 },
    });
    const own = await reviewedOrganization(db, url, {
      escalation: { timeout_seconds: 3_600, on_timeout: "approve", reviewers: [], quorum: 1 },
    });
    const { path } = await held(own, heldBody, wrong);
    const [row] = await db.query<{ left: number; record: { expires_at: string } }>(
      "select extract(epoch from expires_at - clock_timestamp())::float8 as left, record from escalations where escalation_id = $1",
      [path.slice("/v1/escalations/".length)],
    );
    expect(row?.left).toBeGreaterThan(3_000);
    expect(row?.left).toBeLessThanOrEqual(3_600);
    expect(Math.abs(Date.parse(row?.record.expires_at ?? "") - Date.now() - 3_600_000)).toBeLessThan(600_000);
  });
});
