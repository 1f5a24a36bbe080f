/** Creates and binds keys from the command line; `doctor` reports unbound keys. Source: decision 0041. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runOnTestDatabase } from "../../packages/cli/src/testing/run-cli.ts";
import { databaseUrl, testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";

const directory = await mkdtemp(join(tmpdir(), "countersign-bind-"));
afterAll(() => rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
const database = await testDatabase();
const settings = { DATABASE_URL: databaseUrl(database.connection), COUNTERSIGN_DATA_DIR: join(directory, "data") };
const cli = (...args: string[]) => runOnTestDatabase(args, settings);
const json = async (...args: string[]) => JSON.parse((await cli(...args, "--json")).stdout);

let url: string;
let org: { org_id: string; api_key: string; key_id: string; membrane_id: string };
beforeAll(async () => {
  ({ url } = await serviceNode(database));
  const body = { org_name: "Acme", email: "you@example.com", description: "an agent" };
  org = (await call(url, "POST", "/v1/onboarding/quickstart", { body })).json;
});
const submit = (key: string, agent_id: string) =>
  call(url, "POST", "/v1/intents", { key, body: { intent: { agent: { id: agent_id }, action: { verb: "v" } } } });

test("the template agent makes a key bound to an agent and the default membrane, without shadow mode", async () => {
  const key = await json("keys", "create", "--template", "agent", "--bind-agent", "bot", "second");
  const bindings = { membrane_ids: [org.membrane_id], agent_ids: ["bot", "second"], source_cidrs: null };
  expect(key).toMatchObject({ role: "agent", bindings: { ...bindings, forbid_shadow: true } });
  expect((await submit(key.api_key, "second")).status).toBe(201);
  expect((await submit(key.api_key, "other")).status).toBe(403);
  for (const [args, message] of [
    [[], "--bind-agent"],
    [["--role", "admin", "--bind-agent", "a"], "leave out --role"],
  ] as const) {
    const { code, stderr } = await cli("keys", "create", "--template", "agent", ...args);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
  }
});

test("keys bind replaces bindings, reports invalid ones, and unbinds", async () => {
  const { key_id, api_key } = await json("keys", "create");
  const bound = await cli("keys", "bind", key_id, "--bind-source", "10.1.0.0/16", "--forbid-shadow");
  expect(bound.stdout).toBe(`${key_id} is bound: networks 10.1.0.0/16; no shadow mode\n`);
  expect((await submit(api_key, "bot")).status).toBe(403);
  const wrong = await cli("keys", "bind", key_id, "--bind-source", "10.1.0.1/16");
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining("Send 10.1.0.0/16 for the network")]);
  expect((await cli("keys", "bind", key_id)).stderr).toContain("name the bindings");
  expect((await cli("keys", "bind", key_id, "--unbind", "--forbid-shadow")).code).toBe(1);
  expect((await cli("keys", "bind", key_id, "--observed")).stderr).toContain("submitted nothing in the last 30 days");
  expect((await cli("keys", "bind", key_id, "--unbind")).stdout).toBe(`${key_id} is unbound\n`);
  expect((await submit(api_key, "bot")).status).toBe(201);
});

test("doctor names an unbound agent key with a live membrane and a submitting admin key, and its advice fixes both", async () => {
  const { key_id, api_key } = await json("keys", "create", "--name", "loose");
  await submit(api_key, "bot");
  await submit(org.api_key, "admin-bot");
  await call(url, "POST", `/v1/membranes/${org.membrane_id}/go-live`, { key: org.api_key });
  const found = async () => {
    // Makes the node write the noted uses of keys.
    await call(url, "GET", "/v1/api-keys", { key: org.api_key });
    const findings: { check: string; text: string; advice: string }[] = await json("doctor");
    return findings.filter(({ check }) => check === "keys");
  };
  const findings = await found();
  const of = (id: string) => findings.find(({ text }) => text.includes(id));
  expect(of(key_id)).toMatchObject({ text: expect.stringContaining("(loose) is unbound"), state: "note" });
  expect(of(org.key_id)).toMatchObject({ text: expect.stringContaining("is an admin key and submitted actions") });
  const listed = (await cli("keys", "list")).stdout.split("\n");
  expect(listed.find((line) => line.startsWith(key_id))).toMatch(/ unbound$/);

  expect(of(key_id)?.advice).toBe(`countersign keys bind ${key_id} --observed`);
  const bound = await cli("keys", "bind", key_id, "--observed");
  expect(bound.stdout).toBe(`${key_id} is bound: agents bot; membranes ${org.membrane_id}; no shadow mode\n`);
  expect((await found()).some(({ text }) => text.includes(key_id))).toBe(false);

  expect(of(org.key_id)?.advice).toContain(`countersign keys create --observed-from ${org.key_id}`);
  const made = await json("keys", "create", "--observed-from", org.key_id);
  expect(made).toMatchObject({ role: "agent", bindings: { agent_ids: ["admin-bot"], forbid_shadow: true } });
  expect((await submit(made.api_key, "admin-bot")).status).toBe(201);
});
