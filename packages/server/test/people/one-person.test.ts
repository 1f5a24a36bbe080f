/** All keys made by one key or account are one person, who may rule on its agents' actions only in solo mode. */
import { beforeAll, describe, expect, test } from "vitest";
import { insertPerson } from "../../src/store/people/people.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, type TestOrganization, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { testPerson } from "../../src/testing/people/person.ts";

const database = await testDatabase();
const { db } = database;
let url: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
});

type Key = { readonly key_id: string; readonly api_key: string };

const post = (path: string, key: string, body?: unknown) => call(url, "POST", path, { key, body });
const make = async ({ api_key }: Key, role: string): Promise<Key> => {
  const { status, json } = await post("/v1/api-keys", api_key, { role, name: `${role}-bot` });
  expect(status).toBe(201);
  return json;
};

/** A live organization made by quickstart, with this default verdict. */
async function newcomer(default_verdict = "escalate", quorum = 1) {
  const body = { org_name: "Acme", email: "you@example.com", description: "an agent that pays invoices" };
  const { org_id, membrane_id, ...first } = (await call(url, "POST", "/v1/onboarding/quickstart", { body })).json;
  await live(first.api_key, membrane_id, default_verdict, quorum);
  return { org_id: org_id as string, first: first as Key };
}

async function live(admin: string, membrane_id: string, default_verdict: string, quorum = 1): Promise<void> {
  await call(url, "PATCH", `/v1/membranes/${membrane_id}`, {
    key: admin,
    body: { packs: [], default_verdict, escalation: { quorum } },
  });
  expect((await post(`/v1/membranes/${membrane_id}/go-live`, admin)).status).toBe(200);
}

let amount = 0;
async function ask({ api_key }: Key) {
  amount += 1;
  const action = { type: "payment.transfer", verb: "pay" };
  const intent = { agent: { id: "a" }, action, payload: { content: { amount } } };
  return (await post("/v1/intents", api_key, { intent })).json.decision;
}

const approve = ({ api_key }: Key, { escalation_id }: { escalation_id: string }) =>
  post(`/v1/escalations/${escalation_id}/decision`, api_key, { outcome: "approve" });
const override = ({ api_key }: Key, { intent_id }: { intent_id: string }) =>
  post(`/v1/intents/${intent_id}/override`, api_key, { reason: "seen" });
const refusal = async (answer: Promise<{ status: number; json: { error?: { code: string; details: object[] } } }>) => {
  const { status, json } = await answer;
  return [status, json.error?.code, (json.error?.details[0] as { message?: string } | undefined)?.message];
};

describe("solo mode", () => {
  test("the only person may rule on their agents' actions, and record and audit trail say so", async () => {
    const { first } = await newcomer();
    const [agent, reviewer] = [await make(first, "agent"), await make(first, "reviewer")];
    for (const by of [first, reviewer]) {
      const held = await ask(agent);
      const { json } = await approve(by, held);
      expect(json.escalation).toMatchObject({ status: "decided", self_reviewed: true });
      expect(json.escalation.votes).toMatchObject([{ reviewer: first.key_id }]);
      const { audit } = (await call(url, "GET", `/v1/intents/${held.intent_id}/audit`, { key: first.api_key })).json;
      const marked = audit.filter(({ data }: { data: { self_reviewed?: boolean } }) => data.self_reviewed === true);
      expect(marked.map(({ type }: { type: string }) => type)).toEqual(["voted", "reviewed"]);
    }
  });

  test("the submitting key, its rotations and keys made with it may not; nor may anyone if that key can create keys", async () => {
    const { first } = await newcomer();
    const operator = await make(first, "operator");
    const own = await ask(operator);
    expect(await refusal(approve(operator, own))).toEqual([
      ...[403, "self_review"],
      `The action was submitted with the key ${operator.key_id} (operator-bot). That is the same person as you: both go back to ${first.key_id}. ` +
        "Decide with the key or account that made it, or invite a second person.",
    ]);
    const rotated = (await post(`/v1/api-keys/${operator.key_id}/rotate`, operator.api_key)).json as Key;
    expect((await refusal(approve(rotated, own)))[1]).toBe("self_review");

    const second = await make(first, "admin");
    const minted = [await make(second, "reviewer"), await make(first, "reviewer"), first];
    for (const submitted of [await ask(second), await ask(first)])
      for (const by of minted)
        expect(await refusal(approve(by, submitted))).toEqual([
          ...[403, "self_review", expect.stringContaining("Give agents keys of the role agent.")],
        ]);
  });

  test("counts one approval of all keys of the person", async () => {
    const { first } = await newcomer("escalate", 2);
    const agent = await make(first, "agent");
    const held = await ask(agent);
    for (const by of [first, await make(first, "reviewer"), await make(await make(first, "admin"), "operator")])
      expect((await approve(by, held)).json.escalation).toMatchObject({
        ...{ status: "pending", quorum: { approvals: 1, required: 2 }, self_reviewed: true },
        votes: [{ reviewer: first.key_id }],
      });
  });

  test("ends permanently with the second person", async () => {
    const { org_id, first } = await newcomer();
    const [agent, reviewer] = [await make(first, "agent"), await make(first, "reviewer")];
    const held = await ask(agent);
    const { user_id } = await testPerson(db, org_id);
    const refused = [403, "self_review", expect.stringContaining("Ask another person to decide")];
    for (const by of [first, reviewer]) expect(await refusal(approve(by, held))).toEqual(refused);
    await db.query("delete from people where org_id = $1 and user_id = $2", [org_id, user_id]);
    expect(await refusal(approve(reviewer, held))).toEqual(refused);
  });

  test("that ends between reading and voting lets nobody rule", async () => {
    const { org_id, first } = await newcomer();
    const [agent, reviewer] = [await make(first, "agent"), await make(first, "reviewer")];
    const held = await ask(agent);
    const voted = db.system(async (query) => {
      await query("select from org_heads where org_id = $1 for update", [org_id]);
      const answer = approve(reviewer, held);
      const [held_by] = await query<{ pid: number }>("select pg_backend_pid() as pid");
      const waits = "select from pg_locks where not granted and pg_blocking_pids(pid) @> array[$1::integer]";
      await expect.poll(async () => (await db.query(waits, [held_by?.pid])).length).toBeGreaterThan(0);
      const person = { user_id: `usr_${org_id.slice(4)}`, email: `${org_id}@example.com`, role: "reviewer" } as const;
      await insertPerson(query, { org_id, ...person, password_hash: null, created_at: "2026-11-21T03:00:00.000000Z" });
      return () => answer;
    });
    expect((await refusal((await voted)()))[1]).toBe("self_review");
  });
});

describe("with a second person", () => {
  async function withSecond(default_verdict: string) {
    const own = await newcomer(default_verdict);
    await testPerson(db, own.org_id);
    return own;
  }

  test("keys made with one key cannot approve each other's actions, however long the chain", async () => {
    const { first } = await withSecond("escalate");
    const left = await make(await make(first, "admin"), "agent");
    const right = await make(await make(await make(first, "admin"), "admin"), "reviewer");
    expect((await refusal(approve(right, await ask(left))))[1]).toBe("self_review");
  });

  test("two keys of one person count as one of two overriding people; keys made with the submitting key never count", async () => {
    const { first } = await withSecond("approve");
    const policy = {
      apiVersion: "countersign/v1",
      kind: "Policy",
      metadata: { name: "stop" },
      spec: { when: "true", effect: "block", override: "two_person" },
    };
    const { policy_id } = (await post("/v1/policies", first.api_key, { policy })).json.policy;
    await post(`/v1/policies/${policy_id}/activate`, first.api_key, { mode: "live" });
    const blocked = await ask(await make(first, "agent"));
    const [one, other] = [await make(first, "operator"), await make(await make(first, "admin"), "operator")];
    expect((await override(one, blocked)).status).toBe(202);
    for (const by of [one, other, first]) expect((await refusal(override(by, blocked)))[1]).toBe("state_conflict");
    expect((await refusal(override(one, await ask(first))))[1]).toBe("self_review");
  });
});

describe("keys of the command line and of open mode", () => {
  const keyed = async (org: TestOrganization, role: "admin" | "agent" | "reviewer", person?: string) =>
    org.key({ role, ...(person === undefined ? {} : { person }) });

  test("are one person, unless the command line names others", async () => {
    const org = await testOrganization(db);
    const admin = await keyed(org, "admin", "command_line");
    const { membranes } = (await call(url, "GET", "/v1/membranes", { key: admin.api_key })).json;
    await live(admin.api_key, membranes[0].membrane_id, "escalate");
    const [agent, reviewer] = [await keyed(org, "agent", "command_line"), await keyed(org, "reviewer", "command_line")];
    expect((await approve(reviewer, await ask(agent))).json.escalation.self_reviewed).toBe(true);
    const ann = await keyed(org, "reviewer", "person:ann");
    expect(await refusal(approve(reviewer, await ask(agent)))).toEqual([
      ...[403, "self_review", expect.stringContaining("the command line or open mode made both")],
    ]);
    const { escalation } = (await approve(ann, await ask(agent))).json;
    expect(escalation).toMatchObject({ self_reviewed: false, votes: [{ reviewer: "person:ann" }] });
  });
});

describe("older records name a key instead of the person:", () => {
  /** An organization with two keys of Ann, who may do everything, and Bob's agent. */
  async function upgraded(membrane: string) {
    const org = await testOrganization(db);
    const [ann, bob] = [
      await org.key({ role: "admin", person: "person:ann" }),
      await org.key({ role: "agent", person: "person:bob" }),
    ];
    const { membranes } = (await call(url, "GET", "/v1/membranes", { key: ann.api_key })).json;
    await live(ann.api_key, membranes[0].membrane_id, membrane, 2);
    const [one, other] = [await make(ann, "admin"), await make(ann, "admin")];
    const { org_id } = org;
    const asBefore = (table: string, set: string) =>
      db.query(`update ${table} set ${set} where org_id = $1`, [org_id, "person:ann", one.key_id]);
    return { org, bob, one, other, asBefore };
  }

  test("its vote and one with the person's other key are one approval", async () => {
    const { org, bob, one, other, asBefore } = await upgraded("escalate");
    const held = await ask(bob);
    expect((await approve(one, held)).json.escalation.votes).toMatchObject([{ reviewer: "person:ann" }]);
    await asBefore(
      "escalations",
      "record = replace(record::text, $2, $3)::json, demands = replace(demands::text, $2, $3)::json",
    );
    expect((await approve(other, held)).json.escalation).toMatchObject({
      ...{ status: "pending", quorum: { approvals: 1, required: 2 }, votes: [{ reviewer: "person:ann" }] },
      panels: [{ approved_by: ["person:ann"] }],
    });
    const eve = await org.key({ role: "operator", person: "person:eve" });
    expect((await approve(eve, held)).json.escalation.status).toBe("decided");
  });

  test("it counts as one of two people who override or unfreeze", async () => {
    const { bob, one, other, asBefore } = await upgraded("block");
    const blocked = await ask(bob);
    expect((await override(one, blocked)).status).toBe(202);
    await asBefore("overrides", "approved_by = case approved_by when $2 then $3 end");
    expect((await refusal(override(other, blocked)))[1]).toBe("state_conflict");

    const changed = { unfreeze_needs_second_person: true };
    await call(url, "PATCH", "/v1/organization", { key: one.api_key, body: changed });
    await post("/v1/agents/a/freeze", one.api_key, { mode: "block", reason: "test" });
    const unfreeze = ({ api_key }: Key) => post("/v1/agents/a/unfreeze", api_key, { reason: "test" });
    expect((await unfreeze(one)).status).toBe(202);
    await asBefore("freezes", "unfreeze_requested_by = case unfreeze_requested_by when $2 then $3 end");
    expect((await refusal(unfreeze(other)))[1]).toBe("state_conflict");
  });
});
