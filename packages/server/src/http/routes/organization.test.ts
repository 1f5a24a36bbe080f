import { createHash } from "node:crypto";
import { canonicalJson, commitmentTo, leafHash } from "@countersign/core";
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { call, type TestOrganization, testOrganization } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";

const database = await testDatabase();
let url: string;
let org: TestOrganization;
let admin: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
  org = await testOrganization(database.db);
  admin = (await org.key()).api_key;
});

const get = async (path: string, key = admin) => await call(url, "GET", path, { key });
const submit = (key: string, amount_usd: number, query = "") =>
  call(url, "POST", `/v1/intents${query}`, {
    key,
    body: {
      intent: {
        agent: { id: "payer" },
        action: { type: "other.thing", verb: "do_it" },
        payload: { content: { amount_usd } },
      },
    },
  });

describe("the caller", () => {
  test("a key gets its organization, role and scope, with any role", async () => {
    const { api_key, key_id } = await org.key({ role: "agent", scope: "agent", agent_id: "a-1", environment: "test" });
    expect((await get("/v1/me", api_key)).json.caller).toEqual({
      type: "key",
      id: key_id,
      person: key_id,
      org_id: org.org_id,
      org_name: "Test",
      role: "agent",
      scope: "agent",
      agent_id: "a-1",
      environment: "test",
      second_factor_missing: false,
    });
  });
});

describe("the overview", () => {
  test("counts by time, verdict, mode, risk, policy and agent, and only its own organization", async () => {
    const own = await testOrganization(database.db);
    const key = (await own.key()).api_key;
    const document = {
      apiVersion: "countersign/v1",
      kind: "Policy",
      metadata: { name: "too-much", title: "Too much" },
      spec: {
        match: { actions: ["other.*"] },
        when: "params.amount_usd > 100.0",
        effect: "block",
        risk: { add: 0.5, group: "amount" },
        message: "Too much.",
      },
    };
    const made = await call(url, "POST", "/v1/policies", { key, body: { policy: document } });
    const { policy_id } = made.json.policy;
    await call(url, "POST", `/v1/policies/${policy_id}/activate`, { key, body: { mode: "live" } });
    for (const amount of [1, 2, 500]) expect((await submit(key, amount)).status).toBe(201);
    const { overview } = (await get("/v1/overview", key)).json;
    expect(overview.decisions).toBe(3);
    expect(overview.complete).toBe(true);
    const blocked = overview.buckets.filter((each: { verdict: string }) => each.verdict === "block");
    expect(blocked.map((each: { mode: string; count: number }) => [each.mode, each.count])).toEqual([["shadow", 1]]);
    expect(overview.risk.reduce((sum: number, count: number) => sum + count, 0)).toBe(3);
    expect(overview.risk[5]).toBe(1);
    expect(overview.policies).toEqual([{ policy_id, policy: "too-much", effect: "block", count: 1, missing_facts: 0 }]);
    expect(overview.agents).toEqual([{ agent_id: "payer", count: 3, held: 1 }]);
    expect(overview.queue).toEqual({ pending: 0, due_soon: 0, oldest_at: null, next_expires_at: null });
    const { latency } = overview;
    expect(latency.count).toBe(3);
    expect(latency.p50_ms).toBeGreaterThan(0);
    expect(latency.p95_ms).toBeGreaterThanOrEqual(latency.p50_ms);
    expect(latency.p99_ms).toBeGreaterThanOrEqual(latency.p95_ms);
    expect((await get("/v1/overview")).json.overview.latency).toBeNull();
    expect((await get("/v1/overview?mode=live", key)).json.overview.decisions).toBe(0);
    expect((await get("/v1/overview?membrane_id=mem_0", key)).json.overview.decisions).toBe(0);
    expect((await get("/v1/overview")).json.overview.decisions).toBe(0);
  });

  test("an empty, reversed or invalid window, or one longer than 31 days, is refused", async () => {
    for (const query of [
      "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z",
      "from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00Z",
      "from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z",
      "from=yesterday",
    ]) {
      const answer = await get(`/v1/overview?${query}`);
      expect([answer.status, answer.json.error.code], query).toEqual([400, "invalid_request"]);
    }
  });
});

describe("the trail", () => {
  test("lists every row of the organization, newest first, page by page, by type and by actor", async () => {
    const own = await testOrganization(database.db);
    const { api_key, key_id } = await own.key();
    await submit(api_key, 1);
    const whole = (await get("/v1/audit?limit=200", api_key)).json.audit;
    const seqs = whole.map((row: { seq: number }) => row.seq);
    expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, index) => seqs.length - index));
    expect(whole[0].intent_id).toMatch(/^int_/);
    const paged: unknown[] = [];
    let cursor = "";
    do {
      const page = (await get(`/v1/audit?limit=1${cursor === "" ? "" : `&cursor=${cursor}`}`, api_key)).json;
      paged.push(...page.audit);
      cursor = page.next_cursor ?? "";
    } while (cursor !== "");
    expect(paged).toEqual(whole);
    const decided = (await get("/v1/audit?type=decided", api_key)).json.audit;
    expect(decided.map((row: { type: string }) => row.type)).toEqual(["decided"]);
    const by = (await get(`/v1/audit?actor=${key_id}`, api_key)).json.audit;
    expect(new Set(by.map((row: { actor: { id: string } }) => row.actor.id))).toEqual(new Set([key_id]));
    const times = whole.map((row: { at: string }) => row.at);
    const between = (await get(`/v1/audit?from=${times.at(-1)}&to=${times[0]}`, api_key)).json.audit;
    expect(between).toEqual(whole.filter(({ at }: { at: string }) => at < times[0]));
    expect((await get(`/v1/audit?from=${times[0]}`, api_key)).json.audit).toEqual(
      whole.filter(({ at }: { at: string }) => at === times[0]),
    );
    for (const [asked, found] of [
      ["from=0000-01-01T00:00:00Z&to=9999-12-31T23:59:59Z", whole],
      ["to=1969-12-31T23:59:59Z", []],
      ["from=9999-12-31T23:59:59%2B23:59", []],
      [`from=${times[0]}&to=${times.at(-1)}`, []],
    ] as const)
      expect((await get(`/v1/audit?${asked}`, api_key)).json, asked).toEqual({ audit: found, next_cursor: null });
    expect((await get("/v1/audit?from=yesterday", api_key)).status).toBe(400);
    expect((await get("/v1/audit?cursor=AAAA", api_key)).status).toBe(400);
    expect((await get("/v1/audit?type=nothing", api_key)).status).toBe(400);
  });

  interface Row {
    readonly actor: { readonly id: string | null };
    readonly at: string;
    readonly audit_id: string;
    readonly intent_id: string | null;
    readonly type: string;
    readonly data: object;
    readonly hash: string;
    readonly entry: number;
    readonly leaf: string;
    readonly salt: string | null;
    readonly root: string | null;
  }
  function expectHashed(row: Row): void {
    const { actor, at, audit_id, data, intent_id, type, hash, leaf, salt } = row;
    expect(leafHash(leaf)).toBe(hash);
    const said = JSON.parse(leaf);
    expect(canonicalJson(said)).toBe(leaf);
    if (salt === null) expect(said).toMatchObject({ type: "decided", at, intent_id });
    else {
      const change = { actor: actor.id ?? "system", at, audit_id, intent_id, type, v: 1 };
      expect(said).toEqual({ ...change, data: commitmentTo(salt, canonicalJson(data)) });
    }
  }

  test("every row can be hashed again from the list, and every root from the hashes", async () => {
    const own = await testOrganization(database.db);
    const { api_key, key_id } = await own.key();
    const { intent_id } = (await submit(api_key, 1.5e300)).json;
    const detail = { ключ: "ü", "1": [1e21, 0.1], "": null };
    const body = { status: "executed", detail };
    await call(url, "POST", `/v1/intents/${intent_id}/observations`, { key: api_key, body });
    const all: Row[] = (await get("/v1/audit?limit=200", api_key)).json.audit.reverse();
    for (const row of all) expectHashed(row);
    const decision = all.filter((row) => row.intent_id === intent_id && row.salt === null);
    expect(decision.map(({ type }) => type)).toEqual(["submitted", "decided"]);
    for (const { leaf } of decision) expect(JSON.parse(leaf)).toMatchObject({ actor: key_id, agent_id: "payer" });
    // A root covers the previous root and the hashes of the entries since.
    let [root, hashes, entries] = ["0".repeat(64), [] as string[], 0];
    for (const row of all) {
      if (row.entry === entries) hashes.push(row.hash);
      entries = row.entry + 1;
      if (row.root === null) continue;
      root = createHash("sha256")
        .update([root, ...hashes].join(""), "hex")
        .digest("hex");
      hashes = [];
      expect(row.root).toBe(root);
    }
    expect(hashes).toEqual([]);
    const ofIntent: Row[] = (await get(`/v1/intents/${intent_id}/audit`, api_key)).json.audit;
    expect(ofIntent.map(({ type }) => type)).toEqual(["submitted", "decided", "observed"]);
    expect(ofIntent.map(({ hash }) => hash)).toEqual(
      all.filter((row) => row.intent_id === intent_id).map(({ hash }) => hash),
    );
  });

  test("names open mode as the actor without a key", async () => {
    const fresh = await testDatabase();
    const node = await serviceNode(fresh);
    const { intent_id } = (
      await call(node.url, "POST", "/v1/intents", { body: { intent: { agent: { id: "a" }, action: { verb: "v" } } } })
    ).json;
    const { audit } = (await call(node.url, "GET", `/v1/intents/${intent_id}/audit`)).json;
    expect(audit[0].actor).toEqual({ type: "system", id: "open_mode" });
    const { audit: list } = (await call(node.url, "GET", "/v1/audit?type=submitted")).json;
    expect(list).toHaveLength(1);
    expectHashed(list[0]);
    expect(JSON.parse(list[0].leaf)).toMatchObject({ actor: "open_mode", lineage_id: null });
    const { intent } = (await call(node.url, "GET", `/v1/intents/${intent_id}`)).json;
    expect(intent.submitted_by).toEqual({ type: "system", id: "open_mode" });
    expect((await call(node.url, "GET", "/v1/me")).json.caller).toMatchObject({ type: "open_mode", id: null });
  });
});
