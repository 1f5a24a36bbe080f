/** Source: decision 0002. */
import { limits } from "@countersign/contract";
import { expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);
const organization = { org_name: "Acme", email: "you@example.com", description: "an agent that pays invoices" };

const quickstart = (idempotency_key: string, body: object = organization) =>
  call(url, "POST", "/v1/onboarding/quickstart", { body, headers: { "Idempotency-Key": idempotency_key } });
const statusOf = async (key: string) => (await call(url, "GET", "/v1/membranes", { key })).status;

test("each repetition gets the same organization with a new key, and the former key is revoked", async () => {
  const once = crypto.randomUUID();
  const first = await quickstart(once);
  expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([201, null]);
  const again = await quickstart(once);
  const third = await quickstart(once);
  for (const [before, answer] of [
    [first, again],
    [again, third],
  ] as const) {
    expect([answer.status, answer.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    const { api_key, key_id, quickstart_snippet, ...same } = answer.json;
    expect(before.json).toMatchObject(same);
    expect(api_key).toMatch(/^svc_live_org_/);
    expect(key_id).not.toBe(before.json.key_id);
    expect(quickstart_snippet).toContain(api_key);
  }
  expect(await statusOf(first.json.api_key)).toBe(401);
  expect(await statusOf(again.json.api_key)).toBe(401);
  expect(await statusOf(third.json.api_key)).toBe(200);
  const persons = await database.db.query(
    "select distinct k.person, o.solo_ended_at from api_keys k join organizations o using (org_id) where org_id = $1",
    [first.json.org_id],
  );
  expect(persons).toEqual([{ person: first.json.key_id, solo_ended_at: null }]);
  const late = await quickstart(once);
  expect([late.status, late.json.error.code]).toEqual([409, "idempotency_conflict"]);
  expect(await statusOf(third.json.api_key)).toBe(200);
});

test("another body, a delay of ten minutes, or a revoked first key: 409 without a key", async () => {
  const once = crypto.randomUUID();
  const first = await quickstart(once);
  expect((await quickstart(once, { ...organization, org_name: "Other" })).status).toBe(409);
  const age = (seconds: number) =>
    database.db.query("update idempotency_keys set created_at = clock_timestamp() - make_interval(secs => $1)", [
      seconds,
    ]);
  await age(limits.quickstart_repeated_seconds_max + 1);
  expect((await quickstart(once)).status).toBe(409);
  await age(limits.quickstart_repeated_seconds_max - 60);
  await database.db.query("update api_keys set revoked_at = now() where key_id = $1", [first.json.key_id]);
  expect((await quickstart(once)).status).toBe(409);
});

test.each(["k", "0123456789abcdef0123456789abcde", "0".repeat(64), "a-key-of-21-characte."])(
  "a guessable Idempotency-Key is refused: %s",
  async (guessable) => {
    const answer = await quickstart(guessable);
    expect([answer.status, answer.json.error.details[0].path]).toEqual([400, "/Idempotency-Key"]);
  },
);

test("neither the Idempotency-Key nor the API key is stored", async () => {
  const once = crypto.randomUUID();
  const { api_key } = (await quickstart(once)).json;
  const stored = JSON.stringify(await database.db.query("select row_to_json(i)::text as i from idempotency_keys i"));
  expect(stored).toContain('\\"operation\\":\\"quickstart\\"');
  expect(stored).not.toContain(once);
  expect(stored).not.toContain(api_key.slice(-38));
});
