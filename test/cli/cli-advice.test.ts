import fs, { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { startFakeService } from "../../packages/cli/src/testing/fake-service.ts";
import { beginCli, runCli, runOnTestDatabase } from "../../packages/cli/src/testing/run-cli.ts";
import { startCli } from "../../packages/cli/src/testing/start-cli.ts";
import { type ConnectionOptions, openClient } from "../../packages/server/src/store/database/connection.ts";
import { migrate, readMigrations } from "../../packages/server/src/store/database/migrate.ts";
import { databaseUrl, emptyDatabase, testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { waitingFor } from "../../packages/server/src/testing/meanwhile.ts";
import { silentLog } from "../../packages/server/src/testing/nodes/silent-log.ts";

const folder = mkdtempSync(join(tmpdir(), "cli-advice-"));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

/** Shared by all tests that do not change it. */
const database = await testDatabase();
const settings = { DATABASE_URL: databaseUrl(database.connection) };

/** Runs a command that must fail. Returns its standard error; standard output must be empty. */
async function refusalOf(args: readonly string[], env: Readonly<Record<string, string>> = {}, code = 1) {
  const result = await runOnTestDatabase(args, env, folder);
  expect(result).toMatchObject({ code, stdout: "" });
  return result.stderr;
}

describe("without a master key", () => {
  test.each([[["status"]], [["reseal"]], [["replace-key-file"]]])(
    "secrets %j says where a service keeps its key, and how one is created",
    async (command) => {
      writeFileSync(join(folder, "a-file"), "");
      for (const COUNTERSIGN_DATA_DIR of [join(folder, "none"), join(folder, "a-file")]) {
        const said = await refusalOf(["secrets", ...command], { COUNTERSIGN_DATA_DIR });
        expect(said).toBe(
          `countersign: there is no master key: COUNTERSIGN_MASTER_KEY is not set, and there is no ${COUNTERSIGN_DATA_DIR}/master.key: set COUNTERSIGN_DATA_DIR to the data directory of the service, or COUNTERSIGN_MASTER_KEY to its key; for a new service, the first \`countersign serve\` creates one\n`,
        );
      }
    },
  );
});

test("restore into a used database says so once, and where to restore instead", async () => {
  expect((await runCli(["keys", "create"], settings, folder)).code).toBe(0);
  expect((await runCli(["export", "--out", "used.sql"], settings, folder)).code).toBe(0);
  expect(await refusalOf(["restore", "used.sql"], settings)).toBe(
    "countersign: the database is not empty, and nothing was restored: name a new data directory with COUNTERSIGN_DATA_DIR, or a new database with DATABASE_URL\n",
  );
});

test("export names the problem with its output file", async () => {
  mkdirSync(join(folder, "a-folder"));
  writeFileSync(join(folder, "a-file"), "");
  expect(await refusalOf(["export", "--out", "a-folder"], settings)).toBe(
    "countersign: a-folder is a folder: give the name of a file\n",
  );
  expect(await refusalOf(["export", "--out", "no/such/a.sql"], settings)).toBe(
    "countersign: no/such/a.sql cannot be written: the folder no/such does not exist; create it first\n",
  );
  expect(await refusalOf(["export", "--out", "a-file/b/c.sql"], settings)).toContain(
    "the folder a-file/b does not exist",
  );
});

test("export before an upgrade leaves the schema as it is", async () => {
  const files = (await readMigrations("scripts/upgrade-once/schemas")).slice(0, 33);
  const former = await emptyDatabase();
  const versionOf = async (connection: ConnectionOptions) => {
    const client = await openClient(connection, "test");
    const { rows } = await client.query("select max(version) as version from schema_migrations");
    await client.end();
    return rows[0].version;
  };
  await migrate(former, silentLog, files);
  const out = join(folder, "former.sql");
  expect((await runCli(["export", "--out", out], { DATABASE_URL: databaseUrl(former) }, folder)).code).toBe(0);
  expect(await versionOf(former)).toBe(files.length);
  expect(readFileSync(out, "utf8")).toMatch(new RegExp(`^-- Countersign dump 1, schema ${files.length} `));
});

test("export on a full disk names the file and leaves no partial dump", async () => {
  const out = join(folder, "full.sql");
  const full = Object.assign(new Error("no space"), { code: "ENOSPC", syscall: "write" });
  const refuse = (...args: unknown[]) => (args.at(-1) as (error: Error) => void)(full);
  for (const name of ["write", "writev"] as const) vi.spyOn(fs, name).mockImplementation(refuse as never);
  onTestFinished(() => void vi.restoreAllMocks());
  const said = await refusalOf(["export", "--out", out], settings);
  expect(said.trimEnd().split("\n").at(-1)).toBe(
    `countersign: ${out} cannot be written: the disk is full; make room or give another place`,
  );
  expect(existsSync(out)).toBe(false);
});

describe("a file that cannot be read", () => {
  const commands: readonly (readonly [string[], string, number])[] = [
    [["restore"], "", 1],
    [["policies", "check"], "", 1],
    [["policies", "backtest"], "", 2],
    [["replay"], "", 1],
    [["mcp", "server", "--context"], "--context ", 1],
  ];
  test.each(commands)("%j is reported in words", async (command, before, code) => {
    const said = (file: string) => refusalOf([...command, file], {}, code);
    mkdirSync(join(folder, "packed"), { recursive: true });
    expect(await said("none")).toBe(`countersign: ${before}none cannot be read: there is no such file\n`);
    expect(await said("packed")).toBe(`countersign: ${before}packed cannot be read: it is a folder; name a file\n`);
  });

  test("reports a setting of the wrong form with the valid form", async () => {
    writeFileSync(join(folder, "empty"), "");
    expect(await refusalOf(["restore", "empty"], settings)).toBe(
      "countersign: this file is not a Countersign dump: use a file that `countersign export` wrote\n",
    );
    writeFileSync(join(folder, "half.json"), '{"contract_version":"1"');
    expect(await refusalOf(["mcp", "server", "--context", "half.json"])).toMatch(
      /^countersign: --context half.json is not JSON: .*\n$/,
    );
    writeFileSync(join(folder, "rounded.json"), '{"facts":{"entity_state":{"account_balance_usd":9007199254740993}}}');
    expect(await refusalOf(["mcp", "server", "--context", "rounded.json"])).toMatch(
      /rounded.json is refused: \/facts\/entity_state\/account_balance_usd: Send this number as a text/,
    );
  });
});

describe("an address where the service is not", () => {
  const commands: readonly (readonly [string[], number])[] = [
    [["replay", "one.jsonl"], 1],
    [["replay", "one.jsonl", "--batch", "1"], 1],
    [["policies", "backtest"], 2],
    [["webhooks", "listen"], 1],
  ];
  beforeAll(() => writeFileSync(join(folder, "one.jsonl"), '{"intent":{"agent":{"id":"a"},"action":{"verb":"v"}}}'));

  test.each(commands)("%j says how to start a service if nothing answers", async (command, code) => {
    const said = await refusalOf([...command, "--url", "http://127.0.0.1:1"], {}, code);
    expect(said).toMatch(/^countersign: no answer from .*\nIs the service running there\? .* starts it\.\n$/);
  });

  test.each(commands)("%j says which option to correct if another program answers", async (command, code) => {
    for (const status of [200, 404, 501]) {
      const another = await startFakeService(() => ({ status, body: { ok: true } }));
      const said = await refusalOf([...command, "--url", another.url], {}, code);
      await another.stop();
      expect(said).toContain("does not answer like Countersign");
      expect(said).toContain("give the service's address with --url or COUNTERSIGN_URL");
      expect(said).not.toMatch(/^ {4}at /m);
    }
  });
});

test("webhooks listen says which option to correct if its port is taken", async () => {
  const another = await startFakeService(() => null);
  const port = new URL(another.url).port;
  const said = await refusalOf(["webhooks", "listen", "--secret", "whsec_AA", "--port", port]);
  await another.stop();
  expect(said).toBe(
    `countersign: another program listens on port ${port}: give another --port, or leave it out to use a free one\n`,
  );
});

test("an interrupted restore writes nothing, and says so", async () => {
  const from = await testDatabase();
  await from.db.query(
    `insert into deliveries (org_id, delivery_id, webhook_id, event_id, event_type, body, status, attempts, outcomes, due_at, created_at)
     select 'org_a', n::text, 'wh_a', 'evt_a', 'quota.exceeded', repeat('x', 200), 'delivered', 1, '[]', now(), now()
     from generate_series(1, 20) n`,
  );
  const dump = join(folder, "interrupted.sql");
  await runCli(["export", "--out", dump], { DATABASE_URL: databaseUrl(from.connection) });
  const { connection, db } = await testDatabase();
  const other = await openClient(connection, "countersign test");
  await other.query("begin; lock table deliveries in access exclusive mode");
  const cli = beginCli(["restore", dump], { DATABASE_URL: databaseUrl(connection) });
  await expect.poll(() => db.query(waitingFor("deliveries"))).toHaveLength(1);
  cli.interrupt("SIGINT");
  await other.end();
  const { code, stderr } = await cli.finished;
  expect([code, stderr.trimEnd().split("\n").at(-1)]).toEqual([
    130,
    `countersign: interrupted: nothing of ${dump} was restored`,
  ]);
  expect(await db.query("select from deliveries limit 1")).toEqual([]);
});

test("export interrupted by a closed terminal leaves no partial dump, and says so", async () => {
  const other = await openClient(database.connection, "countersign test");
  await other.query("begin; lock table ledger in access exclusive mode");
  const out = join(folder, "half.sql");
  const cli = startCli(["export", "--out", out], settings);
  await expect.poll(() => existsSync(out)).toBe(true);
  cli.process.kill("SIGHUP");
  const { code, stderr } = await cli.finished;
  await other.end();
  expect([code, stderr.trimEnd().split("\n").at(-1)]).toEqual([
    130,
    `countersign: interrupted: ${out} was incomplete and was removed`,
  ]);
  expect(existsSync(out)).toBe(false);
});

test("export that loses its database says so in one line and leaves no partial dump", async () => {
  const other = await openClient(database.connection, "countersign test");
  await other.query("begin; lock table ledger in access exclusive mode");
  const out = join(folder, "lost.sql");
  const cli = beginCli(["export", "--out", out], settings);
  const waiting = waitingFor("ledger");
  await expect.poll(async () => (await other.query(waiting)).rowCount).toBe(1);
  await other.query(`select pg_terminate_backend(pid) from (${waiting}) as waiting`);
  const { code, stderr } = await cli.finished;
  await other.end();
  expect([code, stderr.trimEnd().split("\n").at(-1)]).toEqual([
    1,
    expect.stringMatching(
      /^countersign: the database connection was lost or a statement timed out \(.+\): run countersign doctor/,
    ),
  ]);
  expect(existsSync(out)).toBe(false);
});

test("export whose reader stops reading ends without a database error", async () => {
  const cli = startCli(["export"], settings);
  cli.process.stdout?.destroy();
  const { code, stderr } = await cli.finished;
  expect([code, stderr]).toEqual([1, expect.not.stringMatching(/connection was lost|EPIPE|rows written/)]);
});

test("an interrupted audit verify restores the cursor, then says so", async () => {
  const other = await openClient(database.connection, "countersign test");
  await other.query("begin; lock table ledger in access exclusive mode");
  const cli = beginCli(["audit", "verify"], settings);
  await expect.poll(async () => (await other.query(waitingFor("ledger"))).rowCount).toBe(1);
  cli.interrupt("SIGINT");
  const { code, stderr } = await cli.finished;
  await other.end();
  expect([code, stderr.trimEnd().split("\n").at(-1)]).toEqual([
    130,
    "countersign: interrupted: the check is incomplete",
  ]);
});
