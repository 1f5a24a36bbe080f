/**
 * The database loses its last changes under running nodes, which may have cached them. New changes reach the same
 * epochs.
 */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
const { db } = database;
const { url } = await serviceNode(database);
const { url: other } = await serviceNode(database);

const intent = { agent: { id: "agent-1" }, action: { type: "communication.email", verb: "send_email" } };

/** An organization with a live membrane and epochs `ahead` hours ahead. `change` uses the other node. */
async function organization(ahead: number) {
  const { org_id, key } = await testOrganization(db);
  const { api_key } = await key();
  const { json } = await call(url, "GET", "/v1/membranes", { key: api_key });
  const membrane = `/v1/membranes/${json.membranes[0].membrane_id}`;
  await call(other, "POST", `${membrane}/go-live`, { key: api_key });
  const epochs = ["auth_epoch", "context_epoch"].map((epoch) => `${epoch} = ${epoch} + $2::bigint`);
  await db.system((query) =>
    query(`update org_heads set ${epochs.join(", ")} where org_id = $1`, [org_id, ahead * 3_600_000_000]),
  );
  return {
    org_id,
    key,
    async change(method: string, path: string, body: object) {
      const answer = await call(other, method, path === "membrane" ? membrane : path, { key: api_key, body });
      expect(answer.status, JSON.stringify(answer.json)).toBeLessThan(300);
      return answer.json;
    },
    submit: (as = api_key) => call(url, "POST", "/v1/intents", { key: as, body: { intent } }),
    verdict: async () =>
      (await call(url, "POST", "/v1/intents", { key: api_key, body: { intent } })).json.decision.verdict,
  };
}

const tables = ["api_keys", "key_index", "membranes", "policies", "policy_versions", "stored_context", "org_heads"];

/** Saves the organization's rows. Returns a function that restores them. */
async function kept(org_id: string): Promise<() => Promise<void>> {
  const before = new Map<string, string>();
  for (const table of tables) {
    const [row] = await db.query<{ rows: string }>(
      `select coalesce(json_agg(t), '[]')::text as rows from ${table} t where org_id = $1`,
      [org_id],
    );
    before.set(table, row?.rows ?? "[]");
  }
  return () =>
    db.system(async (query) => {
      for (const [table, rows] of before) {
        await query(`delete from ${table} where org_id = $1`, [org_id]);
        await query(`insert into ${table} select * from json_populate_recordset(null::${table}, $1::json)`, [rows]);
      }
      const lost = "delete from ledger where org_id = $1 and seq > (select audit_seq from org_heads where org_id = $1)";
      await query(lost, [org_id]);
    });
}

const mail = (effect: string, when = "true") => ({
  apiVersion: "countersign/v1",
  kind: "Policy",
  metadata: { name: "mail", title: "Mail" },
  spec: { match: { actions: ["communication.email"] }, when, effect, on_unknown: "skip" },
});
const injection = (prompt_injection_detected: boolean) => ({
  contract_version: "1",
  facts: { security: { active_security_incident: false, prompt_injection_detected } },
});

describe.each([
  ["goes on", 0],
  ["was set back by an hour", 1],
])("where the database's clock %s", (_, ahead) => {
  test.each([false, true])(
    "a decision uses the current membrane, not a lost change; facts pushed since: %s",
    async (pushed) => {
      const { org_id, change, verdict } = await organization(ahead);
      await change("PATCH", "membrane", { default_verdict: "block" });
      const setBack = await kept(org_id);
      await change("PATCH", "membrane", { default_verdict: "approve" });
      expect(await verdict()).toBe("approve");
      await setBack();
      await change("PATCH", "membrane", { default_verdict: "escalate" });
      if (pushed) await change("PUT", "/v1/context/org", injection(false));
      expect(await verdict()).toBe("escalate");
    },
  );

  test("a decision uses the current document of a policy's version, not a lost one with the same number", async () => {
    const { org_id, change, verdict } = await organization(ahead);
    const { policy } = await change("POST", "/v1/policies", { policy: mail("escalate") });
    const path = `/v1/policies/${policy.policy_id}`;
    await change("POST", `${path}/activate`, { mode: "live" });
    const setBack = await kept(org_id);
    const replace = async (effect: string, when: string) => {
      await change("PUT", path, { policy: mail(effect, when) });
      await change("POST", `${path}/activate`, { mode: "live" });
    };
    await replace("block", "false");
    expect(await verdict()).toBe("approve");
    await setBack();
    await replace("block", "true");
    expect(await verdict()).toBe("block");
  });

  test("a decision uses the current stored facts, not lost ones", async () => {
    const { org_id, change, verdict } = await organization(ahead);
    await change("PATCH", "membrane", { default_verdict: "approve", packs: ["security"] });
    const setBack = await kept(org_id);
    await change("PUT", "/v1/context/org", injection(false));
    expect(await verdict()).toBe("approve");
    await setBack();
    await change("PUT", "/v1/context/org", injection(true));
    expect(await verdict()).not.toBe("approve");
  });

  test("a key that the database lost is refused", async () => {
    const { org_id, key, submit } = await organization(ahead);
    const setBack = await kept(org_id);
    const { api_key: lost } = await key();
    expect((await submit(lost)).status).toBe(201);
    await setBack();
    await key();
    expect((await submit(lost)).status).toBe(401);
  });

  test("a membrane created in place of a lost change is found", async () => {
    const { org_id, key, change } = await organization(ahead);
    const { api_key } = await key();
    const named = (membrane_id: string) =>
      call(url, "POST", "/v1/intents", { key: api_key, body: { intent, membrane_id } });
    const setBack = await kept(org_id);
    const { membrane: lost } = await change("POST", "/v1/membranes", { name: "lost" });
    expect((await named(lost.membrane_id)).status).toBe(201);
    await setBack();
    const { membrane } = await change("POST", "/v1/membranes", { name: "new" });
    expect((await named(membrane.membrane_id)).status).toBe(201);
    expect((await named(lost.membrane_id)).status).toBe(404);
  });
});
