/** What `countersign doctor` says of an instance that serves, of none, and of what is wrong. */
import { chmod, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type RunningCli, runCli, startCli } from "../../packages/cli/src/testing/run-cli.ts";
import { openClient } from "../../packages/server/src/store/database/connection.ts";
import { attachEmbedded } from "../../packages/server/src/store/embedded-postgres/attach.ts";

let directory: string;
let data_dir: string;
let service: RunningCli;
let url: string;
let adminKey: string;

const settings = () => ({ COUNTERSIGN_DATA_DIR: data_dir, PORT: "0" });

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "countersign-doctor-"));
  data_dir = join(directory, "data");
  adminKey = (await runCli(["keys", "create", "--role", "admin"], settings())).stdout.trim();
  service = startCli(["serve"], settings());
  url = (await service.printed(/^listening on (http:\/\/\S+)$/m))[1] ?? "";
});

afterAll(async () => {
  service.process.kill("SIGTERM");
  await service.finished;
  await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

test("finds nothing wrong with a running instance", async () => {
  const { code, stdout } = await runCli(["doctor"], { ...settings(), PORT: new URL(url).port });
  expect(stdout).toMatch(/^ok +database +PostgreSQL \d+.* \(embedded, running\)$/m);
  expect(stdout).toMatch(/^ok +schema +migrated to /m);
  expect(stdout).toMatch(/^ok +port +Countersign is running on /m);
  expect(stdout).toMatch(/\n\nNo problems found\.\n$/);
  expect(code).toBe(0);
});

test("names a policy in force that an earlier release let in and this one would refuse", async () => {
  const post = (path: string, body: object) =>
    fetch(`${url}${path}`, {
      method: "POST",
      headers: { "x-api-key": adminKey, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const spec = { when: "!facts.identity.recovery_authorization", effect: "block", on_unknown: "skip" };
  const document = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "own-account" }, spec };
  const saved = (await (await post("/v1/policies", { policy: document })).json()) as { policy: { policy_id: string } };
  const { policy_id } = saved.policy;
  expect((await post(`/v1/policies/${policy_id}/activate`, { version: 1, mode: "live" })).status).toBe(200);
  const doctor = () => runCli(["doctor"], { ...settings(), PORT: new URL(url).port });
  expect((await doctor()).stdout).toMatch(/^ok +policies +this release takes all 1 that are in force$/m);

  const connection = await attachEmbedded(data_dir);
  const database = await openClient(connection as NonNullable<typeof connection>, "test");
  onTestFinished(() => database.end());
  await database.query("set app.org = 'org_local'");
  const former = JSON.stringify({ ...document, spec: { ...spec, when: "!facts.account.recovery_authorization" } });
  await database.query("update policy_versions set document = $1 where policy_id = $2", [former, policy_id]);
  const { code, stdout } = await doctor();
  expect(stdout).toMatch(
    /^PROBLEM +policies +org_local: own-account, version 1, \/spec\/when: .*no field `account`.* the policy stands aside\.$/m,
  );
  expect(code).toBe(1);
  const dump = join(directory, "dump.sql");
  await runCli(["export", "--out", dump], settings());
  const restored = await runCli(["restore", dump], { COUNTERSIGN_DATA_DIR: join(directory, "restored") });
  expect(restored).toMatchObject({ code: 0, stderr: expect.stringContaining("org_local: own-account, version 1") });
  await database.query("update policy_versions set document = $1 where policy_id = $2", [
    JSON.stringify(document),
    policy_id,
  ]);
  expect((await post(`/v1/policies/${policy_id}/retire`, {})).status).toBe(200);
});

test("names organizations that a dump under row-level security left out, and so does the log of the next start", async () => {
  const other = { COUNTERSIGN_DATA_DIR: join(directory, "without-rows"), PORT: "0" };
  await runCli(["keys", "create", "--role", "admin"], other);
  const start = () => startCli(["serve"], other);
  const running = start();
  await running.printed(/^listening on /m);
  expect((await runCli(["doctor"], other)).stdout).not.toMatch(/organizations/);
  const connection = await attachEmbedded(other.COUNTERSIGN_DATA_DIR);
  const database = await openClient(connection as NonNullable<typeof connection>, "test");
  // What pg_dump --enable-row-security writes of tables under row-level security: nothing.
  await database.query("set app.org = '*'; delete from api_keys; delete from org_heads; delete from organizations");
  await database.end();
  const { code, stdout } = await runCli(["doctor"], other);
  expect(stdout).toMatch(/^PROBLEM +organizations +1 organization of keys or people is not in this database, /m);
  expect(code).toBe(1);
  running.process.kill("SIGTERM");
  await running.finished;
  const again = start();
  onTestFinished(() => again.finished.then(() => undefined));
  onTestFinished(() => void again.process.kill("SIGTERM"));
  await again.printed(/"organizations":1.*"msg":"keys or people are of organizations that are not in this database, /);
});

test("tells the version of the Redis that answers", async () => {
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

test("changes nothing where there is no instance yet", async () => {
  const nowhere = join(directory, "nowhere");
  const { code, stdout } = await runCli(["doctor"], { COUNTERSIGN_DATA_DIR: nowhere, PORT: "0" });
  expect(code).toBe(0);
  expect(stdout).toMatch(/database +none yet; the first start makes it/);
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
    expect.objectContaining({ state: "note", text: "COUNTERSIGN_DATADIR is no setting" }),
  );
  for (const { state, advice } of findings) expect(advice === null).toBe(state === "ok");
});

test.each<readonly [string, string, number]>([
  ["holds no key", "garbage", 0o600],
  ["can be read by others", `${Buffer.alloc(32).toString("base64")}\n`, 0o644],
])(
  "a master key's file that %s is a problem also where nothing is sealed yet, as for the service",
  async (_what, text, mode) => {
    const COUNTERSIGN_DATA_DIR = await mkdtemp(join(directory, "key-"));
    const file = join(COUNTERSIGN_DATA_DIR, "master.key");
    await writeFile(file, text);
    await chmod(file, mode);
    for (const begun of [false, true]) {
      if (begun) await runCli(["keys", "list"], { COUNTERSIGN_DATA_DIR });
      const { code, stdout } = await runCli(["doctor"], { COUNTERSIGN_DATA_DIR, PORT: "0" });
      expect([code, stdout]).toEqual([
        1,
        expect.stringMatching(/^PROBLEM +secrets +.*master\.key (?:does not hold|can be)/m),
      ]);
    }
    expect((await runCli(["serve"], { COUNTERSIGN_DATA_DIR, PORT: "0" })).code).toBe(1);
  },
);

test("names wrong settings", async () => {
  const { code, stdout } = await runCli(["doctor"], { PORT: "eighty" });
  expect(code).toBe(1);
  expect(stdout).toMatch(/PROBLEM +settings +PORT="eighty"/);
});
