import { beforeAll, describe, expect, test } from "vitest";
import { lockHead } from "../../../store/organizations/heads.ts";
import { testDatabase } from "../../../testing/database/database.ts";
import { call, type TestOrganization, testOrganization } from "../../../testing/nodes/http-node.ts";
import { serviceNode } from "../../../testing/nodes/service-node.ts";

const database = await testDatabase();
const { db } = database;
let node: Awaited<ReturnType<typeof serviceNode>>;
let url: string;
let second: string;
let org: TestOrganization;
let admin: string;
beforeAll(async () => {
  node = await serviceNode(database);
  url = node.url;
  ({ url: second } = await serviceNode(database));
  org = await testOrganization(db);
  admin = (await org.key()).api_key;
});

const intent = { agent: { id: "agent-1" }, action: { type: "communication.email", verb: "send_email" } };
const submit = (key: string, base = url, query = "") =>
  call(base, "POST", `/v1/intents${query}`, { key, body: { intent } });
const defaultOf = async (key: string) =>
  (await call(url, "GET", "/v1/membranes", { key })).json.membranes.at(-1).membrane_id;

describe("membranes", () => {
  test("a page of membranes with large catalogues ends after 4 MiB, and its cursor continues without a gap", async () => {
    const own = (await (await testOrganization(db)).key()).api_key;
    const names: string[] = ["default"];
    const data_classes = Array.from({ length: 9 }, (_, n) => `${n}${"c".repeat(100)}`);
    for (let n = 0; n < 6; n += 1) {
      const action_catalogue = Array.from({ length: 800 }, (_, m) => ({
        ...{ verb: `verb-${m}`, type: "communication.email", data_classes },
      }));
      const body = { name: `large-${n}`, action_catalogue };
      expect((await call(url, "POST", "/v1/membranes", { key: own, body })).status).toBe(201);
      names.unshift(body.name);
    }
    const pages: string[][] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? "" : `?cursor=${cursor}`;
      const { json } = await call(url, "GET", `/v1/membranes${query}`, { key: own });
      pages.push(json.membranes.map((each: { name: string }) => each.name));
      cursor = json.next_cursor;
    } while (cursor !== null);
    expect(pages.flat()).toEqual(names);
    expect(pages.map((page) => page.length)).toEqual([6, 1]);
  });

  test("an intent may name a membrane on every node as soon as its creation is answered", async () => {
    const own = (await (await testOrganization(db)).key()).api_key;
    // Both nodes load the organization before the change.
    for (const base of [url, second]) expect((await submit(own, base)).status).toBe(201);
    const made = await call(url, "POST", "/v1/membranes", { key: own, body: { name: "new" } });
    const { membrane_id } = made.json.membrane;
    for (const base of [url, second]) {
      const body = { intent, membrane_id };
      const single = await call(base, "POST", "/v1/intents", { key: own, body });
      expect([single.status, single.json.decision?.membrane_id]).toEqual([201, membrane_id]);
      const batch = await call(base, "POST", "/v1/intents/batch", { key: own, body: { intents: [body] } });
      expect(batch.json.results[0]).toMatchObject({ success: true, decision: { membrane_id } });
    }
    const unknown = { intent, membrane_id: "mem_00000000000000000000000000" };
    const refused = await call(url, "POST", "/v1/intents", { key: own, body: unknown });
    expect([refused.status, refused.json.error.details[0].path]).toEqual([404, "/membrane_id"]);
  });

  test("an organization starts with one default membrane in shadow, with the quickstart packs", async () => {
    const { json } = await call(url, "GET", "/v1/membranes", { key: admin });
    expect(json.next_cursor).toBeNull();
    expect(json.membranes).toHaveLength(1);
    expect(json.membranes[0]).toMatchObject({
      name: "default",
      status: "shadow",
      is_default: true,
      packs: ["security", "meta"],
    });
  });

  test("reviewers are roles, people and keys of the organization that may decide; others are 400, foreign like unknown", async () => {
    const own = await testOrganization(db);
    const { api_key: key, key_id } = await own.key();
    const revoked = await own.key({ role: "reviewer" });
    expect((await call(url, "DELETE", `/v1/api-keys/${revoked.key_id}`, { key })).status).toBe(204);
    const path = `/v1/membranes/${await defaultOf(key)}`;
    const change = (type: string, id: string) => {
      const reviewers = [
        { type: "role", id: "operator" },
        { type, id },
      ];
      const escalation = { timeout_seconds: 600, on_timeout: "approve", reviewers, quorum: 1 };
      return call(url, "PATCH", path, { key, body: { escalation } });
    };
    for (const [type, id] of [
      ["role", "Operator"],
      ["role", "auditor"],
      ["user", "ann@example.com"],
      ["user", (await org.key()).key_id],
      ["user", (await own.key({ role: "auditor" })).key_id],
      ["user", revoked.key_id],
      ["user", "usr_00000000000000000000000000"],
    ] as const) {
      const { status, json } = await change(type, id);
      expect([status, json.error?.code], id).toEqual([400, "invalid_request"]);
      expect(json.error.details.map((each: { path: string }) => each.path)).toContain("/escalation/reviewers/1/id");
    }
    const created = { name: "other", escalation: { timeout_seconds: 1, on_timeout: "block", quorum: 1 } };
    const reviewers = [{ type: "user", id: "key_00000000000000000000000000" }];
    const body = { ...created, escalation: { ...created.escalation, reviewers } };
    expect((await call(url, "POST", "/v1/membranes", { key, body })).json.error.code).toBe("invalid_request");
    for (const [type, id] of [
      ["role", "reviewer"],
      ["user", key_id],
    ] as const)
      expect((await change(type, id)).status).toBe(200);
  });

  test("400 for a quorum that the named people cannot reach", async () => {
    const own = await testOrganization(db);
    const { api_key: key, key_id } = await own.key();
    const person = { type: "user", id: key_id };
    const role = { type: "role", id: "reviewer" };
    const path = `/v1/membranes/${await defaultOf(key)}`;
    const change = (reviewers: object[], quorum: number) => {
      const escalation = { timeout_seconds: 600, on_timeout: "block", reviewers, quorum };
      return call(url, "PATCH", path, { key, body: { escalation } });
    };
    const refused = await change([person], 2);
    expect([refused.status, refused.json.error.details[0].path]).toEqual([400, "/escalation/quorum"]);
    const escalation = { timeout_seconds: 600, on_timeout: "block", reviewers: [person], quorum: 2 };
    const made = await call(url, "POST", "/v1/membranes", { key, body: { name: "other", escalation } });
    expect([made.status, made.json.error.details[0].path]).toEqual([400, "/escalation/quorum"]);
    expect((await change([person], 1)).status).toBe(200);
    expect((await change([person, role], 2)).status).toBe(200);
    expect((await change([], 10)).status).toBe(200);
    const { key_id: next } = (await call(url, "POST", `/v1/api-keys/${key_id}/rotate`, { key })).json;
    const { api_key: admin } = await own.key();
    const rotated = { ...escalation, reviewers: [person, { type: "user", id: next }] };
    const twice = await call(url, "PATCH", path, { key: admin, body: { escalation: rotated } });
    expect([twice.status, twice.json.error?.details[0].path]).toEqual([400, "/escalation/quorum"]);
  });

  test("a change without effect makes no decision stale and is not in the audit trail", async () => {
    const own = await testOrganization(db);
    const { api_key: key } = await own.key();
    const path = `/v1/membranes/${await defaultOf(key)}`;
    const head = () => db.tenant(own.org_id, (query) => lockHead(query, own.org_id));
    const body = { default_verdict: "escalate", facts_max_age: { security: 60, identity: 60 } };
    const changed = await call(url, "PATCH", path, { key, body });
    const before = await head();
    const again = { facts_max_age: { identity: 60, security: 60 }, default_verdict: "escalate" };
    for (const same of [body, again, {}]) {
      const answer = await call(url, "PATCH", path, { key, body: same });
      expect([answer.status, answer.json]).toEqual([200, changed.json]);
    }
    expect(await head()).toEqual(before);
    await call(url, "PATCH", path, { key, body: { facts_max_age: { security: 60 } } });
    expect(await head()).toMatchObject({ policy_epoch: before.policy_epoch + 1, audit_seq: before.audit_seq + 1 });
  });

  test("201 creates one in shadow with defaults; reads, pages and repetitions agree", async () => {
    const headers = { "Idempotency-Key": "membrane-1" };
    const body = { name: "payments", default_verdict: "escalate", facts_max_age: { security: 60 } };
    const made = await call(url, "POST", "/v1/membranes", { key: admin, body, headers });
    expect(made.status).toBe(201);
    const { membrane } = made.json;
    expect(membrane).toMatchObject({
      ...body,
      status: "shadow",
      is_default: false,
      thresholds: { escalate_at: null, block_at: null },
      packs: [],
    });
    expect(made.headers.get("location")).toBe(`/v1/membranes/${membrane.membrane_id}`);
    const again = await call(url, "POST", "/v1/membranes", { key: admin, body, headers });
    expect([again.status, again.text]).toEqual([200, made.text]);
    const read = await call(url, "GET", `/v1/membranes/${membrane.membrane_id}`, { key: admin });
    expect(read.json).toEqual({ membrane });
    const first = await call(url, "GET", "/v1/membranes?limit=1", { key: admin });
    expect(first.json.membranes[0].membrane_id).toBe(membrane.membrane_id);
    const rest = await call(url, "GET", `/v1/membranes?cursor=${first.json.next_cursor}`, { key: admin });
    expect(rest.json.membranes.map((each: { name: string }) => each.name)).toEqual(["default"]);
  });

  test("omitted members of thresholds, review and catalogue entries get the default, or stay unchanged", async () => {
    const key = (await (await testOrganization(db)).key()).api_key;
    const body = {
      name: "sparse",
      thresholds: { escalate_at: 0.5 },
      escalation: { timeout_seconds: 2 },
      action_catalogue: [{ verb: "pay", type: "payment.transfer" }],
    };
    const { membrane } = (await call(url, "POST", "/v1/membranes", { key, body })).json;
    const reviewers = [{ type: "role", id: "reviewer" }];
    expect(membrane).toMatchObject({
      thresholds: { escalate_at: 0.5, block_at: null },
      escalation: { timeout_seconds: 2, on_timeout: "block", reviewers, quorum: 1 },
      action_catalogue: [{ verb: "pay", type: "payment.transfer", data_classes: [] }],
    });
    const path = `/v1/membranes/${membrane.membrane_id}`;
    const change = { thresholds: { block_at: 0.9 }, escalation: { on_timeout: "approve" } };
    const changed = (await call(url, "PATCH", path, { key, body: change })).json.membrane;
    const whole = {
      thresholds: { escalate_at: 0.5, block_at: 0.9 },
      escalation: { timeout_seconds: 2, on_timeout: "approve", reviewers, quorum: 1 },
    };
    expect(changed).toEqual({ ...membrane, ...whole });
    // A backtest reconstructs earlier settings from these rows.
    const { json } = await call(url, "GET", "/v1/audit?type=membrane_changed", { key });
    expect(json.audit[0].data).toMatchObject({ membrane_id: membrane.membrane_id, ...whole });
  });

  test("400 for a catalogue with two entries for a verb, in any case, at creation and change", async () => {
    const entry = (type: string) => ({ verb: "pay", type, data_classes: [] });
    const action_catalogue = [entry("payment.transfer"), { ...entry("data.read"), verb: "Pay" }, entry("data.read")];
    const default_id = await defaultOf(admin);
    for (const [method, path] of [
      ["POST", "/v1/membranes"],
      ["PATCH", `/v1/membranes/${default_id}`],
    ] as const) {
      const name = method === "POST" ? { name: "twice" } : {};
      const { status, json } = await call(url, method, path, { key: admin, body: { ...name, action_catalogue } });
      expect([status, json.error?.details]).toEqual([
        400,
        [1, 2].map((index) => ({
          ...{ path: `/action_catalogue/${index}/verb`, code: "not_allowed" },
          message: expect.stringContaining("Entry 0"),
        })),
      ]);
    }
  });

  test("400 names all problems of the settings, at creation and change", async () => {
    const wrong = {
      packs: ["security", "nope"],
      action_catalogue: [0, 1].map(() => ({ verb: "twice", type: "data.read", data_classes: [] })),
      escalation: {
        timeout_seconds: 60,
        on_timeout: "block",
        reviewers: [{ type: "user", id: "usr_00000000000000000000000000" }],
        quorum: 1,
      },
    };
    for (const [method, path, body] of [
      ["POST", "/v1/membranes", { name: "wrong", ...wrong }],
      ["PATCH", `/v1/membranes/${await defaultOf(admin)}`, wrong],
    ] as const) {
      const { status, json } = await call(url, method, path, { key: admin, body });
      expect([status, json.error.details.map((problem: { path: string }) => problem.path)]).toEqual([
        400,
        ["/packs/1", "/action_catalogue/1/verb", "/escalation/reviewers/0/id"],
      ]);
    }
  });

  test("409 for a used name, 400 for an unknown pack, 404 for foreign and unknown ids", async () => {
    const post = (body: object) => call(url, "POST", "/v1/membranes", { key: admin, body });
    expect((await post({ name: "default" })).json.error.code).toBe("already_exists");
    expect((await post({ name: "x", packs: ["security", "nope"] })).json.error.details[0].path).toBe("/packs/1");
    const stranger = (await (await testOrganization(db)).key()).api_key;
    const mine = await defaultOf(admin);
    for (const [method, rest, body] of [
      ["GET", "", undefined],
      ["PATCH", "", {}],
      ["POST", "/go-live", undefined],
    ] as const) {
      for (const [key, id] of [
        [stranger, mine],
        [admin, "mem_00000000000000000000000000"],
      ] as const) {
        expect((await call(url, method, `/v1/membranes/${id}${rest}`, { key, body })).status).toBe(404);
      }
    }
  });

  test("at most one hundred membranes", async () => {
    const own = await testOrganization(db);
    const key = (await own.key()).api_key;
    const post = (n: number) => call(url, "POST", "/v1/membranes", { key, body: { name: `m${n}` } });
    const made = await Promise.all(Array.from({ length: 110 }, (_, n) => post(n)));
    expect(made.filter((answer) => answer.status === 201)).toHaveLength(99);
    expect(made.filter((answer) => answer.status === 409)).toHaveLength(11);
  });

  test("going live and back affects the next decision on every node; a second time is 409", async () => {
    const own = await testOrganization(db);
    const key = (await own.key()).api_key;
    const id = await defaultOf(key);
    const modeOn = async (base: string) => (await submit(key, base)).json.decision.pipeline_mode;
    expect(await modeOn(second)).toBe("shadow");
    expect((await call(url, "POST", `/v1/membranes/${id}/go-live`, { key })).json.membrane.status).toBe("live");
    expect(await modeOn(second)).toBe("live");
    expect((await call(url, "POST", `/v1/membranes/${id}/go-live`, { key })).json.error.code).toBe("state_conflict");
    expect(
      (await call(second, "POST", `/v1/membranes/${id}/return-to-shadow`, { key, body: { reason: "Too slow." } }))
        .status,
    ).toBe(200);
    expect(await modeOn(url)).toBe("shadow");
  });

  test("settings affect the next decision: default verdict, packs, thresholds", async () => {
    const own = await testOrganization(db);
    const key = (await own.key()).api_key;
    const id = await defaultOf(key);
    const patch = (body: object) => call(url, "PATCH", `/v1/membranes/${id}`, { key, body });
    const verdict = async () => (await submit(key)).json.decision.verdict;
    expect((await patch({ default_verdict: "block" })).status).toBe(200);
    expect(await verdict()).toBe("block");
    await patch({ default_verdict: "approve" });
    expect(await verdict()).toBe("approve");
    expect((await patch({ thresholds: { escalate_at: 2, block_at: null } })).status).toBe(400);
    expect((await patch({ status: "live" })).status).toBe(400);
  });

  test("only admins change membranes; reviewers and auditors read them; agents do neither", async () => {
    const id = await defaultOf(admin);
    for (const role of ["operator", "reviewer", "auditor", "agent"] as const) {
      const key = (await org.key({ role })).api_key;
      expect((await call(url, "GET", "/v1/membranes", { key })).status).toBe(role === "agent" ? 403 : 200);
      expect((await call(url, "PATCH", `/v1/membranes/${id}`, { key, body: {} })).status).toBe(403);
      expect((await call(url, "POST", "/v1/membranes", { key, body: { name: "z" } })).status).toBe(403);
      expect((await call(url, "POST", `/v1/membranes/${id}/go-live`, { key })).status).toBe(403);
    }
  });
});
