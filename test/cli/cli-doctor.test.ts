import { chmod, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@countersign/sdk";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { databaseUrl, emptyDatabase, testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { testOrganization } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { wholeService } from "../../packages/server/src/testing/nodes/whole-service.ts";

const directory = await mkdtemp(join(tmpdir(), "countersign-doctor-"));
afterAll(() => rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

const migrated = await testDatabase();

async function instance() {
  const database = await testDatabase();
  const settings = { DATABASE_URL: databaseUrl(database.connection), COUNTERSIGN_DATA_DIR: directory, PORT: "0" };
  const adminKey = (await runCli(["keys", "create", "--role", "admin"], settings)).stdout.trim();
  return { ...database, settings, adminKey, doctor: () => runCli(["doctor"], settings) };
}

test("names a live policy that an earlier release accepted and this one would refuse, and so does a restore", async () => {
  const { db, connection, settings, adminKey, doctor } = await instance();
  const { url } = await serviceNode({ db, connection, analyze: async () => {} });
  const spec = { when: "!facts.identity.recovery_authorization", effect: "block", on_unknown: "skip" };
  const document = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "own-account" }, spec };
  const client = createClient({ base_url: url, api_key: adminKey });
  const { policy_id } = await client.createPolicy({ policy: document });
  await client.activatePolicy(policy_id, "live", 1);
  expect((await doctor()).stdout).toMatch(/^ok +policies +this release accepts all 1 active policies$/m);

  const former = JSON.stringify({ ...document, spec: { ...spec, when: "!facts.account.recovery_authorization" } });
  await db.query("update policy_versions set document = $1 where policy_id = $2", [former, policy_id]);
  const { code, stdout } = await doctor();
  expect(stdout).toMatch(
    /^PROBLEM +policies +org_local: own-account, version 1, \/spec\/when: .*no field `account`.* the policy stands aside\.$/m,
  );
  expect(code).toBe(1);
  const dump = join(directory, "dump.sql");
  await runCli(["export", "--out", dump], settings);
  const empty = { ...settings, DATABASE_URL: databaseUrl(await emptyDatabase()) };
  const restored = await runCli(["restore", dump], empty);
  expect(restored).toMatchObject({ code: 0, stderr: expect.stringContaining("org_local: own-account, version 1") });
});

test("names organizations missing from a dump under row-level security, and so does the next start's log", async () => {
  const { db, settings, doctor } = await instance();
  const { org_id, key } = await testOrganization(db);
  await key();
  expect((await doctor()).stdout).not.toMatch(/organizations/);
  // Simulates pg_dump --enable-row-security, which omits rows of tables under row-level security.
  for (const table of ["api_keys", "org_heads", "organizations"])
    await db.system((query) => query(`delete from ${table} where org_id = $1`, [org_id]));
  const { code, stdout } = await doctor();
  expect(stdout).toMatch(/^PROBLEM +organizations +1 organization of keys or people is not in this database; /m);
  expect(code).toBe(1);
  const service = await wholeService(settings);
  await service.stop();
  expect(service.printed()).toMatch(
    /"organizations":1.*"msg":"organizations of some keys or people are missing in this database, /,
  );
});

test("prints the version of Redis", async () => {
  const redis = createServer((socket) => {
    socket.on("data", (data) => {
      const about = "redis_version:8.2.1\r\nloading:0\r\n";
      for (const command of String(data)
        .split(/^\*\d+\r\n/m)
        .slice(1))
        socket.write(/^\$4\r\ninfo/i.test(command) ? `$${about.length}\r\n${about}\r\n` : "+OK\r\n");
    });
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void redis.close());
  await expect.poll(() => redis.address()).not.toBeNull();
  const { port } = redis.address() as { port: number };
  const { stdout } = await runCli(["doctor"], {
    COUNTERSIGN_DATA_DIR: join(directory, "nowhere"),
    REDIS_URL: `redis://127.0.0.1:${port}`,
    PORT: "0",
  });
  expect(stdout).toMatch(/^ok +redis +version 8\.2\.1$/m);
});

test("changes nothing if no instance exists yet", async () => {
  const nowhere = join(directory, "nowhere");
  const { code, stdout } = await runCli(["doctor"], { COUNTERSIGN_DATA_DIR: nowhere, PORT: "0" });
  expect(code).toBe(0);
  expect(stdout).toMatch(/database +none yet; the first start creates it/);
  await expect(stat(nowhere)).rejects.toThrow("ENOENT");
});

test("reports every problem with advice, without secrets, and exits with 1", async () => {
  const blocker = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void blocker.close());
  const open_dir = await mkdtemp(join(directory, "open-"));
  await chmod(open_dir, 0o755);
  await expect.poll(() => blocker.address()).not.toBeNull();
  const { port } = blocker.address() as { port: number };
  const { code, stdout } = await runCli(["doctor", "--json"], {
    COUNTERSIGN_DATA_DIR: open_dir,
    COUNTERSIGN_DATADIR: "typo",
    DATABASE_URL: `postgres://u:hunter2@127.0.0.1:1/nothing`,
    REDIS_URL: "redis://:hunter2@127.0.0.1:1",
    PORT: String(port),
  });
  expect(code).toBe(1);
  expect(stdout).not.toContain("hunter2");
  const findings: { check: string; state: string; advice: string | null }[] = JSON.parse(stdout);
  const states = Object.fromEntries(findings.map(({ check, state }) => [check, state]));
  expect(states).toMatchObject({
    "data directory": "problem",
    database: "problem",
    redis: "problem",
    port: "problem",
  });
  expect(findings).toContainEqual(
    expect.objectContaining({ state: "note", text: "COUNTERSIGN_DATADIR is not a setting" }),
  );
  for (const { state, advice } of findings) expect(advice === null).toBe(state === "ok");
});

test.each<readonly [string, string, number]>([
  ["holds no key", "garbage", 0o600],
  ["can be read by others", `${Buffer.alloc(32).toString("base64")}\n`, 0o644],
])("reports a master key file that %s even if nothing is sealed yet", async (_what, text, mode) => {
  const COUNTERSIGN_DATA_DIR = await mkdtemp(join(directory, "key-"));
  const file = join(COUNTERSIGN_DATA_DIR, "master.key");
  await writeFile(file, text);
  await chmod(file, mode);
  const begun = { DATABASE_URL: databaseUrl(migrated.connection) };
  for (const database of [{}, begun]) {
    const { code, stdout } = await runCli(["doctor"], { COUNTERSIGN_DATA_DIR, PORT: "0", ...database });
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/^PROBLEM +secrets +.*master\.key (?:does not hold|can be)/m),
    ]);
  }
  expect((await runCli(["serve"], { COUNTERSIGN_DATA_DIR, PORT: "0", ...begun })).code).toBe(1);
});

test("names wrong settings", async () => {
  const { code, stdout } = await runCli(["doctor"], { PORT: "eighty" });
  expect(code).toBe(1);
  expect(stdout).toMatch(/PROBLEM +settings +PORT="eighty"/);
});

/** Answers like PgBouncer in statement mode: refuses transactions and reports process 1. */
async function openPooler(): Promise<string> {
  const message = (type: string, body: string | Buffer) => {
    const [head, content] = [Buffer.alloc(5, type), Buffer.from(body)];
    head.writeInt32BE(content.length + 4, 1);
    return Buffer.concat([head, content]);
  };
  const ready = message("Z", "I");
  const number = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 23, 0, 4, 255, 255, 255, 255, 0, 0]);
  const columns = message("T", Buffer.concat([Buffer.from([0, 1]), Buffer.from("pid\0"), number]));
  const row = message("D", Buffer.concat([Buffer.from([0, 1, 0, 0, 0, 1]), Buffer.from("1")]));
  const answer = Buffer.concat([columns, row, message("C", "SELECT 1\0"), ready]);
  const refusal = "SERROR\0C0A000\0Mtransaction blocks not allowed in statement pooling mode\0\0";
  const pooler = createServer((socket) => {
    socket
      .on("error", () => undefined)
      .on("data", (data) => {
        const type = String.fromCharCode(data[0] ?? 0);
        if (type === "\0") socket.write(Buffer.concat([message("R", Buffer.alloc(4)), ready]));
        else if (type === "Q" && data.includes("begin")) socket.write(Buffer.concat([message("E", refusal), ready]));
        else if (type === "Q") socket.write(answer);
      });
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void pooler.close());
  await expect.poll(() => pooler.address()).not.toBeNull();
  return `postgres://u@127.0.0.1:${(pooler.address() as { port: number }).port}/d`;
}

test("names a pooler in statement mode, and says what to change", async () => {
  const { code, stdout } = await runCli(["doctor"], {
    COUNTERSIGN_DATA_DIR: join(directory, "nowhere"),
    DATABASE_URL: await openPooler(),
    PORT: "0",
  });
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /^PROBLEM +database +DATABASE_URL: this pooler gives each statement to another session .*\n +→ name the database itself, or a pooler in transaction mode$/m,
  );
});

test("with COUNTERSIGN_URL or COUNTERSIGN_API_KEY it asks the service that client commands use", async () => {
  const { db, connection, settings, adminKey } = await instance();
  const { url } = await serviceNode({ db, connection, analyze: async () => {} });
  const client = (env: Readonly<Record<string, string>>) => runCli(["doctor"], { ...settings, ...env });
  expect((await client({})).stdout).not.toMatch(/ service /);
  const good = { COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY: adminKey };
  expect((await client(good)).stdout).toContain(
    `service         ${url} answers (COUNTERSIGN_URL and COUNTERSIGN_API_KEY)`,
  );
  expect((await runCli(["intents", "unknown"], good)).code).toBe(0);
  const wrong = await client({ ...good, COUNTERSIGN_API_KEY: `${adminKey.slice(0, -2)}xx` });
  expect(wrong.stdout).toMatch(/^PROBLEM +service +.*\n +→ change COUNTERSIGN_URL and COUNTERSIGN_API_KEY; /m);
  expect((await client({ COUNTERSIGN_URL: "here" })).stdout).toMatch(
    /^PROBLEM +service +COUNTERSIGN_URL is not an address: /m,
  );
});
