/** Checks that key texts and webhook secrets appear only in the answer that creates them. Source: spec §5 rule 9. */
import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { exportDump } from "../../packages/server/src/store/upkeep/export.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call, testOrganization } from "../../packages/server/src/testing/nodes/http-node.ts";
import { webhookNode } from "../../packages/server/src/testing/nodes/webhook-node.ts";

const database = await testDatabase();
const logged: string[] = [];
const line = (fields: object, message: string) =>
  void logged.push(
    JSON.stringify({ ...fields, message }, (_, value) =>
      value instanceof Error ? `${value.stack} ${JSON.stringify(value)}` : value,
    ),
  );
const log = { debug: line, info: line, warn: line, error: line };
const { url } = await webhookNode(database, { log });

const made: string[] = [];
const others: string[] = [];
async function send(method: string, path: string, key: string | undefined, body?: unknown, headers = {}) {
  const answer = await call(url, method, path, {
    headers,
    ...(key === undefined ? {} : { key }),
    ...(body === undefined ? {} : { body }),
  });
  const makes = answer.status < 300 && (answer.json?.api_key?.length > 3 || answer.json?.webhook?.secret?.length > 3);
  (makes ? made : others).push(`${answer.text} ${JSON.stringify([...answer.headers])}`);
  return answer;
}

async function dump(): Promise<string> {
  const pieces: string[] = [];
  const output = new Writable({
    decodeStrings: false,
    write: (piece: string, _encoding, done) => {
      pieces.push(piece);
      done();
    },
  });
  await exportDump(database.connection, output);
  return pieces.join("");
}

test("no dump, log line or other answer contains a key or a webhook secret", async () => {
  const quick = { org_name: "Q", email: "q@example.com", description: "sends mail" };
  const first = (await send("POST", "/v1/onboarding/quickstart", undefined, quick)).json;
  const admin: string = first.api_key;
  const once = { "Idempotency-Key": "made-once" };
  const created = await send("POST", "/v1/api-keys", admin, { name: "n" }, once);
  const again = await send("POST", "/v1/api-keys", admin, { name: "n" }, once);
  expect(again.json.api_key).toBe("***");
  const rotated = await send("POST", `/v1/api-keys/${created.json.key_id}/rotate`, created.json.api_key);
  const hook = await send("POST", "/v1/escalations/webhooks", admin, { url: "https://nobody.example.com/x" }, once);
  await send("POST", "/v1/escalations/webhooks", admin, { url: "https://nobody.example.com/x" }, once);
  const { secret, id } = hook.json.webhook;

  const intent = { agent: { id: "a" }, action: { type: "communication.email", verb: "send_email" } };
  const { intent_id } = (await send("POST", "/v1/intents", admin, { intent })).json;
  await send("GET", `/v1/intents?api_key=${admin}`, undefined);
  await send("GET", `/v1/intents/${admin}`, admin);
  await send("POST", "/v1/intents", admin, `{"intent": {"${admin}": 1}`);
  await send("GET", "/v1/intents", `${admin}x`);
  await send("GET", "/v1/intents", created.json.api_key);
  await send("GET", "/v1/api-keys", rotated.json.api_key);
  for (const path of ["/v1/api-keys", "/v1/escalations/webhooks", `/v1/escalations/webhooks/${id}`, "/v1/membranes"])
    await send("GET", path, admin);
  for (const rest of ["", "/decision", "/audit"]) await send("GET", `/v1/intents/${intent_id}${rest}`, admin);
  await send("PATCH", `/v1/escalations/webhooks/${id}`, admin, { description: "changed" });
  await send("GET", "/metrics", undefined);
  // The delivery fails because nothing listens. Its record is part of the dump.
  await expect
    .poll(async () => (await send("GET", "/v1/escalations/webhooks/deliveries/failed", admin)).json.deliveries.length)
    .toBe(1);
  await send("DELETE", `/v1/escalations/webhooks/${id}`, admin);
  await send("DELETE", `/v1/api-keys/${rotated.json.key_id}`, admin);

  const texts: string[] = [admin, created.json.api_key, rotated.json.api_key, secret];
  const parts = texts.flatMap((text) => {
    const random = text.split("_").at(-1) as string;
    return [text, random, random.slice(0, 20), Buffer.from(text).toString("base64"), Buffer.from(text).toString("hex")];
  });
  const places = { dump: await dump(), log: logged.join("\n"), answers: others.join("\n") };
  expect(places.dump).toContain(intent_id);
  expect(logged.length).toBeGreaterThan(15);
  for (const [place, text] of Object.entries(places))
    for (const part of parts) expect(text.includes(part), `${place} holds ${part}`).toBe(false);
  expect(made).toHaveLength(4);
  expect(places.answers).toContain('"secret":"***"');
});

test("rotating the only admin key logs a warning: after a lost answer only the command line helps", async () => {
  const org = await testOrganization(database.db);
  const only = await org.key();
  logged.length = 0;
  const { json } = await call(url, "POST", `/v1/api-keys/${only.key_id}/rotate`, { key: only.api_key });
  expect(logged.filter((text) => text.includes("the only admin key was rotated"))).toHaveLength(1);
  await org.key();
  logged.length = 0;
  await call(url, "POST", `/v1/api-keys/${json.key_id}/rotate`, { key: json.api_key });
  expect(logged.filter((text) => text.includes("only admin key"))).toEqual([]);
});
