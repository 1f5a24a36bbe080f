/** Revocation and rotation are linearizable over nodes. */
import { Agent, request } from "undici";
import { afterAll, expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { openDb } from "../../src/store/database/db.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, httpNode, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { silentLog } from "../../src/testing/nodes/silent-log.ts";

const database = await testDatabase();
const { db, connection } = database;
const secondDb = openDb(connection, silentLog);
afterAll(() => secondDb.close());
const nodes = [await httpNode(db), await httpNode(secondDb)] as const;
const org = await testOrganization(db);
const intent = JSON.stringify({ intent: { agent: { id: "a-1" }, action: { verb: "send_email" } } });

/** One request of the load, in milliseconds of this process. */
interface Asked {
  readonly began: number;
  readonly ended: number;
  readonly status: number;
}

/** More than a node's database sessions, so that requests queue; 200 in the nightly run. */
const connections = Math.max(60, runs(200));

/**
 * All connections send requests with one key before, during and after `during`. Returns when each began and its result.
 */
async function hammer(api_key: string, during: () => Promise<void>): Promise<Asked[]> {
  const agents = nodes.map(() => new Agent({ connections: connections / 2, pipelining: 1 }));
  const seen: Asked[] = [];
  let running = true;
  let from = Number.NEGATIVE_INFINITY;
  let settled: (() => void) | undefined;
  /** Resolves when as many requests as connections have begun and ended after this call. */
  const allAsked = () => {
    from = performance.now();
    let left = connections;
    return new Promise<void>((resolve) => {
      settled = () => {
        left -= 1;
        if (left === 0) resolve();
      };
    });
  };
  const before = allAsked();
  const workers = Array.from({ length: connections }, async (_, worker) => {
    while (running) {
      const at = worker % 2;
      const submit = worker % 4 < 2;
      const began = performance.now();
      const { statusCode, body } = await request(
        `${nodes[at as 0 | 1].url}/v1/${submit ? "intents" : "intents?limit=1"}`,
        {
          method: submit ? "POST" : "GET",
          headers: { "X-API-Key": api_key, ...(submit ? { "Content-Type": "application/json" } : {}) },
          body: submit ? intent : null,
          dispatcher: agents[at] as Agent,
        },
      );
      await body.dump();
      seen.push({ began, ended: performance.now(), status: statusCode });
      if (began >= from) settled?.();
    }
  });
  await before;
  await during();
  await allAsked();
  running = false;
  await Promise.all(workers);
  await Promise.all(agents.map((agent) => agent.destroy()));
  return seen;
}

test.each(["rotate", "revoke"] as const)(
  "many connections on two nodes: every request that began after the answer to %s got 401",
  async (how) => {
    const admin = await org.key();
    const old = await org.key({ role: "auditor" });
    let [sent, answered] = [0, 0];
    const seen = await hammer(old.api_key, async () => {
      sent = performance.now();
      const answer =
        how === "rotate"
          ? await call(nodes[0].url, "POST", `/v1/api-keys/${old.key_id}/rotate`, { key: old.api_key })
          : await call(nodes[1].url, "DELETE", `/v1/api-keys/${old.key_id}`, { key: admin.api_key });
      answered = performance.now();
      expect([200, 204]).toContain(answer.status);
    });
    const before = seen.filter((each) => each.ended < sent);
    const after = seen.filter((each) => each.began > answered);
    expect(new Set(before.map((each) => each.status))).toEqual(new Set([200, 201]));
    expect(after.length).toBeGreaterThanOrEqual(connections);
    expect(new Set(after.map((each) => each.status))).toEqual(new Set([401]));
  },
);

const services = [await serviceNode(database), await serviceNode(database)] as const;

test.each(["rotate", "revoke"] as const)(
  "a node with a cached key decides nothing with it once another node has answered %s",
  async (how) => {
    const [here, elsewhere] = services;
    const admin = await org.key();
    const old = await org.key();
    const submit = () => call(elsewhere.url, "POST", "/v1/intents", { key: old.api_key, body: intent });
    expect((await submit()).status).toBe(201);
    const changed =
      how === "rotate"
        ? await call(here.url, "POST", `/v1/api-keys/${old.key_id}/rotate`, { key: old.api_key })
        : await call(here.url, "DELETE", `/v1/api-keys/${old.key_id}`, { key: admin.api_key });
    expect([200, 204]).toContain(changed.status);
    const refused = await submit();
    expect([refused.status, refused.json.error?.code]).toEqual([401, "invalid_api_key"]);
    expect(await db.query("select from intents where actor = $1", [old.key_id])).toHaveLength(1);
  },
);

test("a revoked key that is still cached is refused with 401, whatever else is wrong", async () => {
  const admin = await org.key();
  for (const [name, send] of Object.entries({
    "broken body": { body: "{broken" },
    "wrong media type": { headers: { "Content-Type": "text/plain" }, body: "x" },
    "unknown parameter": { path: "/v1/intents?mod=shadow", body: intent },
    "bad idempotency key": { headers: { "Idempotency-Key": "é" }, body: intent },
    "too large": { body: JSON.stringify({ intent: "x".repeat(1_100_000) }) },
  })) {
    const { api_key, key_id } = await org.key();
    const warm = await call(nodes[0].url, "POST", "/v1/intents", { key: api_key, body: intent });
    expect(warm.status).toBe(201);
    await call(nodes[1].url, "DELETE", `/v1/api-keys/${key_id}`, { key: admin.api_key });
    const { path = "/v1/intents", ...rest } = send as { path?: string; body: string; headers?: Record<string, string> };
    const answer = await call(nodes[0].url, "POST", path, { key: api_key, ...rest });
    expect([name, answer.status, answer.json?.error.code]).toEqual([name, 401, "invalid_api_key"]);
  }
});
