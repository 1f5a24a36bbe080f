import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { beginCli, type CliResult, failingOutput, runOnTestDatabase } from "../../packages/cli/src/testing/run-cli.ts";
import { readConfig } from "../../packages/server/src/edge/start/config.ts";
import { createSealer } from "../../packages/server/src/edge/start/sealer.ts";
import { databaseUrl, emptyDatabase, testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { testPerson } from "../../packages/server/src/testing/people/person.ts";

const directory = await mkdtemp(join(tmpdir(), "countersign-operate-"));
afterAll(() => rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
const database = await testDatabase();
const master_key = randomBytes(32);
let url: string;
let adminKey: string;
let created: CliResult;

const settings = { DATABASE_URL: databaseUrl(database.connection), COUNTERSIGN_DATA_DIR: join(directory, "data") };
const cli = (...args: string[]) => runOnTestDatabase(args, settings);
const elsewhere = async () => ({
  DATABASE_URL: databaseUrl(await emptyDatabase()),
  COUNTERSIGN_DATA_DIR: join(directory, "elsewhere"),
});
const json = async (...args: string[]) => JSON.parse((await cli(...args, "--json")).stdout);
const get = (path: string, api_key: string) => fetch(`${url}${path}`, { headers: { "x-api-key": api_key } });
const answerOf = async (response: Promise<Response>) => (await (await response).json()) as Record<string, never>;
const submit = (api_key: string) =>
  fetch(`${url}/v1/intents`, {
    method: "POST",
    headers: { "x-api-key": api_key, "content-type": "application/json" },
    body: JSON.stringify({ intent: { agent: { id: "a" }, action: { type: "data.read", verb: "look" } } }),
  });

beforeAll(async () => {
  created = await cli("keys", "create", "--role", "admin", "--name", "first");
  adminKey = created.stdout.trim();
  ({ url } = await serviceNode(database, { config: readConfig({}), sealer: createSealer(master_key) }));
});

describe("keys create", () => {
  test("on a new instance creates open mode's organization and prints only the key on standard output", async () => {
    expect(created.code).toBe(0);
    expect(created.stdout).toMatch(/^svc_live_org_[0-9A-Za-z]{38}\n$/);
    expect(created.stderr).toMatch(/^key_\w{26}, role admin, for org_local \(.+\), until \d{4}-/);
    expect((await get("/v1/api-keys", adminKey)).status).toBe(200);
  });

  test("beside a running service creates a key that works at once, with all requested options", async () => {
    const key = await json(
      "keys",
      "create",
      "--scope",
      "agent",
      "--agent-id",
      "a",
      "--environment",
      "test",
      "--days",
      "30",
      "--name",
      "bot",
    );
    expect(key).toMatchObject({
      org_id: "org_local",
      role: "agent",
      scope: "agent",
      agent_id: "a",
      environment: "test",
      name: "bot",
    });
    expect(Math.round((Date.parse(key.expires_at) - Date.parse(key.created_at)) / 1000)).toBe(30 * 86_400);
    expect((await submit(key.api_key)).status).toBe(201);
  });

  test("revokes a key again if it could not be printed", async () => {
    const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    const { code, stderr } = await beginCli(["keys", "create", "--name", "unseen"], settings, failingOutput(full))
      .finished;
    expect([code, stderr]).toEqual([1, expect.stringContaining("standard output: ENOSPC")]);
    expect(stderr).toMatch(/the output failed, so key_\w{26} was revoked\n$/);
    const keys: readonly { name: string | null; revoked_at: string | null }[] = await json("keys", "list");
    expect(keys.filter(({ name }) => name === "unseen")).toMatchObject([{ revoked_at: expect.any(String) }]);
  });

  test("with --person creates the key of another person: an account, or a named person", async () => {
    const { user_id, email } = await testPerson(database.db, "org_local");
    const own = await json("keys", "create");
    const made = [];
    for (const person of [email, user_id, "ann"]) made.push(await json("keys", "create", "--person", person));
    const persons = await database.db.query<{ person: string; created_by: string | null }>(
      "select person, created_by from api_keys where org_id = 'org_local' and key_id = any($1) order by key_id",
      [[own, ...made].map(({ key_id }) => key_id)],
    );
    expect(persons).toEqual([
      { person: "command_line", created_by: null },
      { person: user_id, created_by: user_id },
      { person: user_id, created_by: user_id },
      { person: "person:ann", created_by: null },
    ]);
    const { audit } = await answerOf(get("/v1/audit?type=key_created&limit=1", adminKey));
    expect(audit).toMatchObject([{ data: { person: "person:ann" } }]);
    for (const nobody of ["nobody@example.com", "usr_nobody"])
      expect((await cli("keys", "create", "--person", nobody)).stderr).toContain("has the address or id");
    expect((await cli("keys", "create", "--person", " ann")).stderr).toContain("printable characters");
  });

  test("refuses conflicting options and an unknown organization", async () => {
    const unbound = await cli("keys", "create", "--scope", "agent");
    expect(unbound).toMatchObject({ code: 1, stdout: "" });
    expect(unbound.stderr).toContain("Name the agent of a key of scope agent");
    expect((await cli("keys", "create", "--org", "org_none")).stderr).toContain("there is no organization org_none");
    expect((await cli("keys", "create", "--days", "1e2")).stderr).toContain("give a whole number");
    expect((await cli("keys", "create", "--role", "king")).stderr).toContain("Allowed choices are admin, operator");
  });

  test.each([
    [["--name", "n".repeat(300)], "--name: Send at most "],
    [["--scope", "agent", "--agent-id", ""], "--agent-id: Send at least 1 characters."],
    [["--days", "3651"], "--days: Send a number <= 3650."],
  ])("refuses what the API refuses: %j", async (options, said) => {
    const { code, stdout, stderr } = await cli("keys", "create", ...options);
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: "", stderr: expect.stringContaining(said) });
  });
});

test("keys list shows every key without its text, with state and creator", async () => {
  const maker = await json("keys", "create", "--role", "admin");
  const headers = { "x-api-key": maker.api_key, "content-type": "application/json" };
  const made = await fetch(`${url}/v1/api-keys`, { method: "POST", headers, body: '{"name":"made over HTTP"}' });
  expect(made.status).toBe(201);
  const { key_id } = await json("keys", "create");
  await cli("keys", "revoke", key_id);
  const { stdout } = await cli("keys", "list");
  expect(stdout).toMatch(/^KEY_ID +ORGANIZATION +NAME +ROLE /);
  expect(stdout).toMatch(/^key_\w+ +org_local +first +admin +live +org +– +valid /m);
  expect(stdout).toMatch(new RegExp(`^${key_id} .* revoked .* –$`, "m"));
  expect(stdout).toMatch(new RegExp(`made over HTTP .* ${maker.key_id} +–$`, "m"));
  expect(stdout).not.toContain("svc_");
  expect(
    (await json("keys", "list")).find((key: { key_id: string }) => key.key_id === key_id).revoked_at,
  ).not.toBeNull();
});

test("keys revoke takes effect with the next request", async () => {
  const { api_key, key_id } = await json("keys", "create", "--role", "operator");
  expect((await get("/v1/usage", api_key)).status).toBe(200);
  expect((await cli("keys", "revoke", key_id)).stdout).toBe(`${key_id} of org_local is revoked\n`);
  const refused = await get("/v1/usage", api_key);
  expect(refused.status).toBe(401);
  expect(await refused.json()).toMatchObject({ error: { code: "invalid_api_key" } });
  expect((await submit(api_key)).status).toBe(401);
});

test("keys revoke names the successor of a rotated key while that is valid", async () => {
  const first = await json("keys", "create", "--role", "operator");
  const rotate = async ({ api_key, key_id }: { api_key: string; key_id: string }) => {
    const headers = { "x-api-key": api_key };
    const answer = await fetch(`${url}/v1/api-keys/${key_id}/rotate`, { method: "POST", headers });
    return (await answer.json()) as { api_key: string; key_id: string };
  };
  const last = await rotate(await rotate(first));
  const told = await cli("keys", "revoke", first.key_id);
  expect(told).toMatchObject({ code: 0, stdout: `${first.key_id} of org_local is revoked\n` });
  expect(told.stderr).toBe(
    `It was rotated into ${last.key_id}, which is still valid: countersign keys revoke ${last.key_id} ends it, too\n`,
  );
  expect((await cli("keys", "revoke", last.key_id)).stderr).toBe("");
  expect((await get("/v1/usage", last.api_key)).status).toBe(401);
  expect((await cli("keys", "revoke", first.key_id)).stderr).toBe("");
});

test("keys revoke and limit refuse a key that does not exist", async () => {
  for (const command of [
    ["revoke", "key_none"],
    ["limit", "key_none", "none"],
  ]) {
    const { code, stderr } = await cli("keys", ...command);
    expect(code).toBe(1);
    expect(stderr).toContain("there is no key key_none");
  }
});

test("keys limit changes the limit from the next request, and none removes it", async () => {
  const { api_key, key_id } = await json("keys", "create", "--role", "operator");
  const limit = async () => (await get("/v1/usage", api_key)).headers.get("ratelimit-limit");
  expect(await limit()).toBe("120");
  await cli("keys", "limit", key_id, "general=600");
  expect(await limit()).toBe("600");
  await cli("keys", "limit", key_id, "none");
  expect(await limit()).toBe("120");
  for (const wrong of ["general=lots", "foo=1"])
    expect((await cli("keys", "limit", key_id, wrong)).stderr).toBe(
      `countersign: "${wrong}" is not a limit: expected category=requests pairs such as intents=6000,general=600; categories: intents, general, backtest; 1 to 1000000 requests per minute, or none\n`,
    );
  const unheard = await cli("keys", "limit", key_id, "general=600,onboarding=600");
  expect(unheard.code).toBe(1);
  expect(unheard.stderr).toContain("onboarding is counted by address, not by key");
  expect(await limit()).toBe("120");
});

test("orgs plan sets a limit from the next intent on, and orgs list shows plan and usage", async () => {
  // Only live decisions count.
  const [membrane] = (await answerOf(get("/v1/membranes", adminKey)))["membranes"] as unknown as {
    membrane_id: string;
  }[];
  await fetch(`${url}/v1/membranes/${membrane?.membrane_id}/go-live`, {
    method: "POST",
    headers: { "x-api-key": adminKey },
  });
  const { used_actions } = (await answerOf(get("/v1/usage", adminKey)))["usage"] as unknown as { used_actions: number };
  await cli("orgs", "plan", "org_local", "tiny", "--included", String(used_actions + 1));
  expect([(await submit(adminKey)).status, (await submit(adminKey)).status]).toEqual([201, 402]);
  const [listed] = await json("orgs", "list");
  expect(listed).toMatchObject({
    org_id: "org_local",
    plan_id: "tiny",
    hard_limit: used_actions + 1,
    usage_used: used_actions + 1,
  });
  const plans = [
    [["--included", "9", "--hard-limit", "none"], 9, null],
    [["--included", "none", "--hard-limit", "8"], null, 8],
    [["--hard-limit", "none"], null, null],
  ] as const;
  for (const [options, included_actions, hard_limit] of plans) {
    expect(await cli("orgs", "plan", "org_local", "unlimited", ...options)).toMatchObject({ code: 0, stderr: "" });
    expect(await json("orgs", "list")).toMatchObject([{ included_actions, hard_limit }]);
  }
  expect((await submit(adminKey)).status).toBe(201);
  expect((await cli("orgs", "list")).stdout).toMatch(
    /^org_local +\S.* +unlimited +unlimited +unlimited +\d+ +\d{4}-\d\d /m,
  );
});

test("orgs plan refuses an unknown organization, an unknown plan and an invalid number", async () => {
  expect(await cli("orgs", "plan", "org_none", "tiny")).toMatchObject({
    code: 1,
    stderr: "countersign: there is no organization org_none (countersign orgs list shows them)\n",
  });
  for (const name of [" ", "x".repeat(129)])
    expect(await cli("orgs", "plan", "org_local", name)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("give 1 to 128 characters"),
    });
  expect((await cli("orgs", "plan", "org_local", "x", "--included", "-1")).code).toBe(1);
});

test("with several organizations a key needs --org", async () => {
  const signup = async (org_name: string) => {
    const body = JSON.stringify({ org_name, email: "a@example.com", description: "test" });
    const headers = { "content-type": "application/json" };
    return String(
      (await answerOf(fetch(`${url}/v1/onboarding/quickstart`, { method: "POST", headers, body })))["org_id"],
    );
  };
  const org_id = await signup("One");
  expect((await json("keys", "create")).org_id).toBe(org_id);
  const other = await signup("Two\u001b[2J\n\u202eowT");
  const { code, stderr } = await cli("keys", "create");
  expect(code).toBe(1);
  expect(stderr).toContain("there are 2 organizations: choose one with --org");
  expect((await json("keys", "create", "--org", org_id)).org_id).toBe(org_id);
  // The person who signs up chooses the name. It must not control the operator's terminal or add a line.
  const name = "Two\\u{1b}[2J\\u{a}\\u{202e}owT";
  expect((await cli("orgs", "list")).stdout).toContain(`${other}  ${name}  unlimited `);
  expect((await cli("orgs", "list", "--json")).stdout).toContain('"name": "Two\\u001b[2J\\n\\u202eowT"');
  expect((await cli("keys", "create", "--org", other)).stderr).toContain(`for ${other} (${name}), until`);
});

describe("export and restore", () => {
  test("an export of a running instance restores completely, and only its owner may read the file", async () => {
    const file = join(directory, "dump.sql.gz");
    // The service notes the last use of a key some seconds late, so the two reads may differ.
    const steady = (keys: { last_used_at: unknown }[]) => keys.map(({ last_used_at: _, ...key }) => key);
    const before = steady(await json("keys", "list"));
    expect((await cli("export", "--out", file)).stderr).toMatch(/^[\d,]+ rows written to /);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const other = await elsewhere();
    expect((await runOnTestDatabase(["restore", file], other)).code).toBe(0);
    expect(steady(JSON.parse((await runOnTestDatabase(["keys", "list", "--json"], other)).stdout))).toEqual(before);
  });

  test("a restore prints its time and what it undoes, and reports a missing master key before the first start", async () => {
    const file = join(directory, "sealed.sql");
    const headers = { "x-api-key": adminKey, "content-type": "application/json" };
    // The webhook's secret is sealed. Events of this type are never sent.
    const body = JSON.stringify({ url: "https://1.1.1.1/", event_types: ["pattern.detected"] });
    const registered = await fetch(`${url}/v1/escalations/webhooks`, { method: "POST", headers, body });
    expect(registered.status).toBe(201);
    // The service seals a key for the log of each organization.
    const orgs: readonly unknown[] = await json("orgs", "list");
    const logKeys = () => database.db.system((query) => query("select key_id from log_keys"));
    await expect.poll(async () => (await logKeys()).length).toBe(orgs.length);
    await cli("export", "--out", file);
    const missing = await runOnTestDatabase(["restore", file], await elsewhere());
    expect(missing.code).toBe(0);
    expect(missing.stderr).toContain(
      `${orgs.length + 1} sealed values, and no key to open them: there is no master key`,
    );
    expect(missing.stderr).toContain("before the service starts: restore the master key of the service");
    const key = { COUNTERSIGN_MASTER_KEY: master_key.toString("base64") };
    const known = await runOnTestDatabase(["restore", file], { ...(await elsewhere()), ...key });
    const [restored, warning, ...more] = known.stderr.split("\n");
    expect(restored?.replace(file, "FILE")).toMatch(
      /^FILE is restored; its state is that of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/,
    );
    expect(warning).toMatch(/^Keys revoked, .* after that are valid again\.$/);
    expect(more).toEqual([""]);
  });

  test("export to standard output writes the script and nothing else", async () => {
    const { code, stdout } = await cli("export");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^-- Countersign dump /);
    expect(stdout).toMatch(/commit;\n-- end of dump, sha256 [0-9a-f]{64}\n$/);
  });

  test("export overwrites nothing", async () => {
    const file = join(directory, "once.sql");
    await cli("export", "--out", file);
    expect(await cli("export", "--out", file)).toMatchObject({
      code: 1,
      stderr: `countersign: ${file} already exists and is not overwritten: give another name, or remove it first\n`,
    });
    expect((await stat(file)).size).toBeGreaterThan(0);
  });
});

test("webhooks rotate-secret prints only the new secret, and with --overlap both are valid until the overlap ends", async () => {
  const headers = { "x-api-key": adminKey, "content-type": "application/json" };
  const hook = { url: "https://1.1.1.1/", event_types: ["pattern.detected"] };
  const made = await answerOf(
    fetch(`${url}/v1/escalations/webhooks`, { method: "POST", headers, body: JSON.stringify(hook) }),
  );
  const { id, secret } = made["webhook"] as unknown as { id: string; secret: string };
  const rotate = (...args: string[]) =>
    cli("webhooks", "rotate-secret", id, ...args, "--url", url, "--api-key", adminKey);
  const overlapping = await rotate("--overlap", "24");
  expect(overlapping).toMatchObject({ code: 0, stdout: expect.stringMatching(/^whsec_\S+\n$/) });
  expect(overlapping.stdout).not.toContain(secret);
  expect(overlapping.stderr).toContain("the old secret signs X-Service-Signature until 20");
  expect(await rotate("--overlap", "1")).toMatchObject({ code: 1, stderr: expect.stringContaining("overlap") });
  expect(await rotate()).toMatchObject({ code: 0, stderr: expect.stringContaining("the old secret is void") });
  expect((await rotate("--overlap", "0")).stderr).toContain("give a whole number from 1 to 168");
});

describe("webhooks listen", () => {
  const listen = (api_key: string, ...args: string[]) =>
    cli("webhooks", "listen", "--url", url, "--api-key", api_key, ...args);

  test("says how to allow local receivers, and how to pass a key", async () => {
    expect(await listen(adminKey)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        "start it with COUNTERSIGN_WEBHOOK_ALLOW_HTTP=true COUNTERSIGN_WEBHOOK_ALLOW_CIDRS",
      ),
    });
    for (const command of [
      ["webhooks", "listen"],
      ["policies", "backtest"],
    ])
      expect((await cli(...command, "--url", url)).stderr).toContain(
        "(give a key with --api-key or COUNTERSIGN_API_KEY)",
      );
  });

  test("says in one line which webhook may still be registered if the service ended first", async () => {
    const service = createServer((_, response) =>
      response.writeHead(201).end('{"webhook":{"id":"wh_1","secret":"whsec_AA"}}'),
    );
    await once(service.listen(0, "127.0.0.1"), "listening");
    const listening = beginCli([
      "webhooks",
      "listen",
      "--url",
      `http://127.0.0.1:${(service.address() as AddressInfo).port}`,
    ]);
    await listening.printed(/^listening on/m);
    service.close().closeAllConnections();
    listening.interrupt("SIGINT");
    const { code, stderr } = await listening.finished;
    expect([code, stderr.trimEnd().split("\n").at(-1)]).toEqual([
      1,
      expect.stringMatching(/^countersign: delete wh_1 in the console, because it may still be registered: /),
    ]);
  });
});
