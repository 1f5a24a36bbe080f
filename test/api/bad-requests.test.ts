import { readFileSync } from "node:fs";
import { operationRows } from "@countersign/contract";
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { rawRequest } from "../../packages/server/src/testing/network/raw-http.ts";
import { testOrganization } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";

interface BadRequest {
  readonly id: string;
  readonly reason: string;
  readonly auth: "admin" | "custom" | "expired" | "none";
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly raw?: string;
  readonly generate?: { prefix: string; unit: string; count: number; suffix: string };
  readonly expect: (number | "closed")[];
}
const cases: BadRequest[] = JSON.parse(readFileSync(new URL("../data/bad-requests.json", import.meta.url), "utf8"));

const database = await testDatabase();
const node = await serviceNode(database);
const port = Number(new URL(node.url).port);
const org = await testOrganization(database.db);
const other = await testOrganization(database.db);
const names = new Map<string, string>();
let expired = "";

beforeAll(async () => {
  const admin = await org.key();
  names.set("<VALID>", admin.api_key);
  const soon = await org.key();
  const past = "update api_keys set expires_at = now() - interval '1 second' where key_id = $1";
  await database.db.query(past, [soon.key_id]);
  expired = soon.api_key;
  names.set("<OWN_KEY_ID>", soon.key_id);
  const foreign = await other.key();
  const intent = { intent: { agent: { id: "a" }, action: { verb: "v" } } };
  const headers = { "X-API-Key": foreign.api_key, "Content-Type": "application/json" };
  const made = await fetch(`${node.url}/v1/intents`, { method: "POST", headers, body: JSON.stringify(intent) });
  expect(made.status).toBe(201);
  names.set("<INTENT_OTHER_ORG>", ((await made.json()) as { intent_id: string }).intent_id);
  names.set("<WEBHOOK_ID>", await webhook(admin.api_key));
  names.set("<WEBHOOK_OTHER_ORG>", await webhook(foreign.api_key));
  // No such deliveries exist here. Unknown and foreign ones must answer alike.
  for (const name of ["OTHER_ORG", "SUCCEEDED", "PENDING"])
    names.set(`<DELIVERY_${name}>`, "dlv_01K00000000000000000000000");
});

async function webhook(key: string): Promise<string> {
  const headers = { "X-API-Key": key, "Content-Type": "application/json" };
  const body = JSON.stringify({ url: "https://example.com/hook" });
  const made = await fetch(`${node.url}/v1/escalations/webhooks`, { method: "POST", headers, body });
  expect(made.status).toBe(201);
  return ((await made.json()) as { webhook: { id: string } }).webhook.id;
}

/** Differs from the recording: PATCH of a webhook exists, so a PATCH without a body is a 400. */
const overruled: Record<string, number[]> = { "bad-144": [400] };

const filled = (text: string) => text.replaceAll(/<[A-Z_]+>/g, (name) => names.get(name) ?? name);

/** Body and query are checked only if the path is known. */
function judged({ method, path, expect: expected }: BadRequest): boolean {
  if (method === undefined || expected.includes(404) || expected.includes(401)) return true;
  const plain = path?.split("?")[0] ?? "";
  return operationRows.some(
    ([, row]) => row.method === method && new RegExp(`^${row.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(plain),
  );
}

function bytesOf({ method, path, headers = {}, body, auth, raw, generate }: BadRequest): string {
  if (raw !== undefined) return filled(raw);
  if (generate !== undefined) return filled(generate.prefix) + generate.unit.repeat(generate.count) + generate.suffix;
  const key = auth === "admin" ? { "x-api-key": "<VALID>" } : auth === "expired" ? { "x-api-key": expired } : {};
  const head = Object.entries({ host: "127.0.0.1", ...key, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  if (body !== undefined) head.push(`content-length: ${Buffer.byteLength(body)}\r\n`);
  return filled(`${method} ${path} HTTP/1.1\r\n${head.join("")}\r\n`) + Buffer.from(body ?? "").toString("latin1");
}

describe("recorded bad requests", () => {
  for (const each of cases) {
    const title = `${each.id} ${each.reason} (${each.method ?? "raw"} ${each.path?.slice(0, 60) ?? ""})`;
    test.skipIf(!judged(each))(title, async () => {
      const { statuses, text } = await rawRequest(port, bytesOf(each));
      const right = overruled[each.id] ?? each.expect;
      if (statuses.length === 0) return expect(right).toContain("closed");
      const status = statuses[0] as number;
      expect(right, text).toContain(status);
      expect(statuses.length, text).toBe(1);
      if (status < 400) return;
      const { error } = JSON.parse(text.slice(text.indexOf("\r\n\r\n") + 4));
      expect(error).toMatchObject({
        code: expect.any(String),
        message: expect.any(String),
        details: expect.any(Array),
      });
      expect(text).toMatch(new RegExp(`^x-request-id: ${error.request_id}\r$`, "im"));
      if (status === 401 && each.auth !== "expired") expect(text.toLowerCase()).not.toContain("x-service-key-expired");
    });
  }

  test("every unknown key gets the same body", async () => {
    const bodies = new Set<string>();
    for (const each of cases.filter(({ auth, headers }) => auth === "custom" && headers?.["x-api-key"])) {
      const { text } = await rawRequest(port, bytesOf(each));
      bodies.add(text.slice(text.indexOf("\r\n\r\n")).replace(/req_\w+/, ""));
    }
    expect(bodies.size).toBe(1);
  });

  test("after all of them the service answers as before", async () => {
    const health = await fetch(`${node.url}/healthz`);
    expect([health.status, await health.json()]).toEqual([200, { status: "ok" }]);
    expect(({} as Record<string, unknown>)["admin"]).toBeUndefined();
  });
});
