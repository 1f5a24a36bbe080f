/** Source: docs/decisions/0061. */
import { beforeAll, describe, expect, test } from "vitest";
import { searchTrail } from "../../src/store/audit/search-trail.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { ledgerRows } from "../../src/testing/database/ledger-rows.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { testPerson } from "../../src/testing/people/person.ts";
import { activatePayPolicy, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const { db, connection, analyze } = await testDatabase();
let url: string;
let of: Reviewed;
const made: Record<string, string> = {};

const post = async (path: string, key: string, body: unknown) => (await call(url, "POST", path, { key, body })).json;

async function submit(name: string, agent_id: string, amount: number, target: string, more: object = {}) {
  const { intent_id, decision } = await post("/v1/intents", of.agent, {
    intent: {
      agent: { id: agent_id },
      action: { type: "payment.transfer", verb: "pay", target: { identifier: target } },
      payload: { content: { amount, ...more } },
    },
  });
  made[intent_id] = name;
  return decision.escalation_id as string;
}

async function list(query: string, key = of.operator) {
  const { json } = await call(url, "GET", `/v1/audit?${query}`, { key });
  expect(json.error).toBeUndefined();
  return json as {
    audit: { seq: number; type: string; intent_id: string | null; actor: { id: string }; data: { name?: string } }[];
    next_cursor: string | null;
    searched_to?: string;
  };
}
const found = async (query: string, key?: string) =>
  (await list(query, key)).audit.map(
    ({ type, intent_id, data }) => `${type} ${made[intent_id ?? ""] ?? data.name ?? "-"}`,
  );

beforeAll(async () => {
  ({ url } = await serviceNode({ db, connection, analyze }));
  of = await reviewedOrganization(db, url, { packs: [] });
  await activatePayPolicy(url, of, "large", { when: "params.amount > 1000", effect: "block", escalation: {} });
  await activatePayPolicy(url, of, "medium", { when: "params.amount > 100", effect: "escalate", escalation: {} });
  await submit("small", "bot", 1, "acc_1");
  const held = await submit("held", "bot", 200, "acc_2");
  await submit("blocked", "Other", 2_000, "acc_1");
  await post(`/v1/escalations/${held}/decision`, of.reviewer, { outcome: "block", comment: 'Say "no" to Ünal' });
  await call(url, "PUT", "/v1/agents/Other", { key: of.admin, body: { owner: "ann@example.com", purpose: "pays" } });
});

const of_blocked = ["decided blocked", "submitted blocked"];
const of_held = ["reviewed held", "voted held", "escalated held", "decided held", "submitted held"];

describe("the audit trail can be searched", () => {
  test.each<[string, readonly string[]]>([
    ["agent_id=bot", [...of_held, "decided small", "submitted small"]],
    ["agent_id=bot&type=voted", ["voted held"]],
    ["agent_id=nobody", []],
    ["policy=large", [...of_blocked, "policy_activated large", "policy_saved large"]],
    ["policy=large&type=policy_saved", ["policy_saved large"]],
    ["policy=medium&agent_id=Other", of_blocked],
    ["policy=medium&agent_id=bot&action=pay", of_held],
    ["action=payment.transfer&type=decided", ["decided blocked", "decided held", "decided small"]],
    ["action=refund", []],
    [`text=${encodeURIComponent('say "NO" to Ü')}`, ["reviewed held", "voted held"]],
    ["text=ACC_2&type=reviewed", ["reviewed held"]],
  ])("%s", async (query, rows) => {
    const got = (await found(query)).filter((row) => !/^(delivered|agent_registered)/.test(row));
    expect(got).toEqual(rows);
  });

  test("by the agent of a change that has no intent", async () => {
    expect(await found("agent_id=Other&type=agent_registered")).toHaveLength(1);
  });

  test("page by page, each record once", async () => {
    const all = (await list("agent_id=bot")).audit.map(({ seq }) => seq);
    const seqs: number[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: Awaited<ReturnType<typeof list>> = await list(`agent_id=bot&limit=2${cursor && `&cursor=${cursor}`}`);
      seqs.push(...page.audit.map(({ seq }) => seq));
      cursor = page.next_cursor;
    }
    expect(seqs).toEqual(all);
  });

  test("but not by a value that a rule redacts, although the target has it", async () => {
    const spec = { match: { verbs: ["hide"] }, when: "true", effect: "approve_modified" };
    const policy = {
      ...{ apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "hide" } },
      spec: { ...spec, modify: [{ op: "redact", path: "/iban" }] },
    };
    const saved = await post("/v1/policies", of.admin, { policy });
    await post(`/v1/policies/${saved.policy.policy_id}/activate`, of.admin, { mode: "live" });
    const iban = "DE02120300000000202051";
    const action = { verb: "hide", target: { identifier: iban } };
    await post("/v1/intents", of.agent, { intent: { agent: { id: "h" }, action, payload: { content: { iban } } } });
    expect((await found("text=hide&agent_id=h")).length).toBeGreaterThan(1);
    expect(await found(`text=${iban}`)).toEqual([]);
  });

  test("by a part of the name or address of who acted, also of people who were removed and of keys", async () => {
    const { org_id } = of.org;
    // Before the other rows, because they do not move the head.
    const { key_id, api_key } = await of.org.key({ name: "Night runner" });
    const registered = { key: api_key, body: { owner: "ann@example.com", purpose: "runs" } };
    await call(url, "PUT", "/v1/agents/night", registered);
    const ann = await testPerson(db, org_id, { name: "Ann Lee" });
    const ben = await testPerson(db, org_id, { name: "Ben", email: "lee@example.com" });
    const named = async (by: string) => (await list(`by=${by}`)).audit.map(({ type, actor }) => `${type} ${actor.id}`);
    const of_ann = `password_changed ${ann.user_id}`;
    const of_ben = `mfa_enabled ${ben.user_id}`;
    await ledgerRows(db, org_id, [
      { type: "password_changed", actor: ann.user_id },
      { type: "user_joined", actor: "usr_left", data: { user_id: "usr_left", email: "zoe@example.com" } },
      { type: "mfa_enabled", actor: ben.user_id },
    ]);
    expect([await named("ann"), await named("ZOE@"), await named("LEE"), await named("nobody")]).toEqual([
      [of_ann],
      ["user_joined usr_left"],
      [of_ben, of_ann],
      [],
    ]);
    expect(await named(`lee&actor=${ben.user_id}`)).toEqual([of_ben]);
    expect(await named(`ann&actor=${ben.user_id}`)).toEqual([]);
    expect(await named("night")).toEqual([`agent_registered ${key_id}`]);
    const many = Array.from({ length: 101 }, (_, n) => ({
      type: "user_joined",
      data: { user_id: `usr_${n}`, email: "same@x" },
    }));
    await ledgerRows(db, org_id, many);
    expect((await call(url, "GET", "/v1/audit?by=same", { key: of.operator })).status).toBe(400);
  });

  test("only in the own organization", async () => {
    const other = await reviewedOrganization(db, url, { packs: [] });
    for (const query of ["agent_id=bot", "text=acc_1", "policy=large", "by=ann"])
      expect(await found(query, other.operator), query).toEqual([]);
  });
});

describe("a search", () => {
  const org_id = "org_00000000000000000000000009";
  const intent = (verb: string) => ({ submitted: { action: { verb } }, decided_as: { type: "other" } });
  const search = (filter: Parameters<typeof searchTrail>[2], before: number | null, limit = 2, read_max?: number) =>
    db.tenant(org_id, (query) => searchTrail(query, org_id, filter, before, limit, read_max));
  const often = 2_001;

  beforeAll(async () => {
    const rows = [
      { intent: intent("rare"), escalation_id: "esc_1" },
      ...Array.from({ length: often }, () => ({ agent_id: "often", intent: intent("pay") })),
    ];
    await ledgerRows(db, org_id, rows);
    await analyze("ledger");
  });

  test("ends after as many entries as one request reads, says up to when, and goes on until nothing is left", async () => {
    let [place, seqs, requests]: [number | null, readonly number[], number] = [null, [], 0];
    do {
      const { next, searched_to, ...page } = await search({ action: "rare" }, place, 2, 1_000);
      expect(searched_to === null).toBe(next === null);
      [place, seqs] = [next, [...seqs, ...page.seqs]];
      requests += 1;
    } while (place !== null);
    expect([seqs, requests]).toEqual([[3], 3]);
  });

  test("finds the entries of a frequent agent, which it does not look up one by one", async () => {
    const newest = 3 + 2 * often;
    expect(await search({ agent_id: "often" }, null)).toEqual({
      ...{ seqs: [newest, newest - 2], next: newest - 3, searched_to: null },
    });
    expect(await search({ agent_id: "often" }, 6, 5)).toEqual({ seqs: [5], next: null, searched_to: null });
  });
});
