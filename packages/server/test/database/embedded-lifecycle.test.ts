import { execFileSync, spawn } from "node:child_process";
import { chmod, cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { openDb } from "../../src/store/database/db.ts";
import { startDatabase } from "../../src/store/database/start-database.ts";
import { StartRefused } from "../../src/store/database/start-refused.ts";
import { openCluster, socketDir } from "../../src/store/embedded-postgres/cluster.ts";
import { startEmbedded } from "../../src/store/embedded-postgres/index.ts";
import { PostmasterFailed, startPostmaster } from "../../src/store/embedded-postgres/postmaster.ts";
import { gone, hosted, madeDir, orphan, sql, started, temporaryDir } from "../../src/testing/database/embedded.ts";
import { silentLog } from "../../src/testing/nodes/silent-log.ts";

const linux = process.platform === "linux";

describe("the embedded database", () => {
  test("is a durable server that only its user reaches, and that Ctrl-C in the terminal does not end", async () => {
    const dir = await temporaryDir();
    expect((await stat(dir)).mode & 0o777).toBe(0o700);
    const server = await started({ data_dir: join(dir, "data") });
    const [settings] = await sql(
      server.connection,
      `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as sync, current_setting('full_page_writes') as pages,
        current_setting('listen_addresses') as tcp, current_setting('server_encoding') as encoding, current_setting('TimeZone') as zone,
        (select rolsuper from pg_roles where rolname = current_user) as superuser`,
    );
    expect(settings).toEqual({
      fsync: "on",
      sync: "on",
      pages: "on",
      tcp: "",
      encoding: "UTF8",
      zone: "UTC",
      superuser: false,
    });
    for (const private_dir of [join(dir, "data"), server.connection.host])
      expect((await stat(private_dir)).mode & 0o777).toBe(0o700);
    if (!linux) return;
    // Runs in its own process group, because the service stops it after its own work.
    const group = async (pid: number | "self") =>
      (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]?.split(" ")[2];
    expect(await group(server.pid())).not.toBe(await group("self"));
    if (process.getuid?.() !== 0) return;
    // If root starts it, it runs as 65534, even below a directory that only root may enter.
    expect(await readFile(`/proc/${server.pid()}/status`, "utf8")).toMatch(/^Uid:\t65534\t65534\t65534\t65534$/m);
    expect((await stat(join(dir, "data", "postgres", "db"))).uid).toBe(65_534);
  });

  test("restarts with its rows, whatever the environment says about other servers", async () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    const elsewhere = {
      SSLMODE: "verify-full",
      SSLNEGOTIATION: "direct",
      OPTIONS: "-c search_path=theirs",
      HOST: "db",
    };
    for (const [name, value] of Object.entries(elsewhere)) vi.stubEnv(`PG${name}`, value);
    const data_dir = await madeDir();
    const first = await startDatabase({ database_url: null, data_dir }, silentLog);
    if (!("host" in first.connection)) throw new Error("expected a socket");
    await sql(first.connection, "create table t as select 42 as n");
    await first.stop();
    const { connection } = await started({ data_dir });
    const db = openDb(connection, silentLog);
    onTestFinished(() => db.close());
    expect(await db.query("select n from t")).toEqual([{ n: 42 }]);
  });

  test("is not restarted if a stop comes between two restart attempts", async () => {
    const data_dir = await madeDir();
    let stopped: Promise<void> | undefined;
    const tries: string[] = [];
    const error = (_fields: object, message: string) => {
      tries.push(message);
      if (tries.length === 3) stopped = server.stop();
    };
    const server = await startEmbedded({ data_dir }, { ...silentLog, error });
    const db_dir = join(data_dir, "postgres", "db");
    await rename(join(db_dir, "pg_wal"), join(data_dir, "elsewhere"));
    process.kill(server.pid(), "SIGKILL");
    await expect.poll(() => stopped !== undefined, { timeout: 60_000 }).toBe(true);
    await stopped;
    const [again, failed] = [/ended unexpectedly/, /could not be restarted/].map((each) => expect.stringMatching(each));
    expect(tries).toEqual([again, failed, again]);
    expect(await readdir(join(data_dir, "claims"))).toEqual([]);
  });

  test("works in a directory whose path is longer than a socket address may be", async () => {
    const data_dir = join(await temporaryDir(), "a-long-name-".repeat(10), "data");
    await mkdir(dirname(data_dir));
    await rename(await madeDir(), data_dir);
    const { connection } = await started({ data_dir });
    onTestFinished(() => rm(connection.host, { recursive: true, force: true }));
    expect(Buffer.byteLength(connection.host)).toBeLessThan(90);
    expect((await stat(connection.host)).mode & 0o777).toBe(0o700);
    expect(await sql(connection, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  test("below such a path is refused with advice if no temporary folder can hold its socket", async () => {
    const cluster = await openCluster(join(await temporaryDir(), "a-long-name-".repeat(10), "data"));
    vi.stubEnv("TMPDIR", "/nonexistent");
    onTestFinished(() => void vi.unstubAllEnvs());
    const refused = socketDir(cluster);
    await expect(refused).rejects.toThrow(StartRefused);
    await expect(refused).rejects.toThrow(
      /too long for a socket, and \/nonexistent cannot hold one \(ENOENT\): set TMPDIR to a writable folder/,
    );
  });

  test.skipIf(!linux || process.getuid?.() !== 0)(
    "in another user's directory is refused in one line with the owner, and not treated as new",
    async () => {
      const above = await temporaryDir();
      await chmod(above, 0o755);
      const data_dir = join(above, "data");
      await mkdir(data_dir, { mode: 0o700 });
      const { answer } = await hosted({ data_dir }, 65_533);
      expect(answer).toEqual({
        name: "StartRefused",
        refused: `COUNTERSIGN_DATA_DIR="${data_dir}": uid 65533 may not use it (EACCES), it belongs to uid 0: run as a user who may, or name another directory`,
      });
    },
  );
});

describe("a second start on the same directory", () => {
  test("says in one line which process holds it, and exits with 1; it is also refused if no process is visible", async () => {
    const data_dir = await madeDir();
    const first = await started({ data_dir });
    const second = started({ data_dir });
    await expect(second).rejects.toThrow(StartRefused);
    const refusal = new RegExp(`^the data directory .* is in use by process ${process.pid}: [^\n]+$`);
    await expect(second).rejects.toThrow(refusal);
    const { child, answer } = await hosted({ data_dir });
    expect(answer).toMatchObject({ name: "StartRefused", refused: expect.stringMatching(refusal) });
    await expect.poll(() => child.exitCode).toBe(1);

    // Imitates a start from another container, which sees neither our claim nor the server's process.
    const note_file = join(data_dir, "postgres/db/postmaster.pid");
    const note = await readFile(note_file, "utf8");
    await rm(join(data_dir, "claims"), { recursive: true });
    await writeFile(note_file, note.replace(/^\d+/, String(2 ** 22 + 1)));
    await expect(started({ data_dir })).rejects.toThrow(
      /^another server works on .* not visible from here: stop it, or set/,
    );
    await writeFile(note_file, note);
    expect(await sql(first.connection, "select 1 as one")).toEqual([{ one: 1 }]);
  });
});

describe("kill -9", () => {
  test("of our process also stops the server, and every acknowledged row survives", async () => {
    const data_dir = await madeDir();
    const { child, answer } = await hosted({ data_dir });
    await sql(answer.connection, "create table t (n int primary key)");
    let acknowledged = 0;
    const writing = (async () => {
      for (;;) {
        await sql(answer.connection, `insert into t values (${acknowledged + 1})`);
        acknowledged += 1;
      }
    })().catch(() => undefined);
    await expect.poll(() => acknowledged).toBeGreaterThan(20);
    child.kill("SIGKILL");
    await Promise.all([writing, gone(answer.pid)]);
    const { connection } = await started({ data_dir });
    const [row] = await sql(connection, "select count(*) as n, max(n) as last from t");
    // The last commit may have succeeded without an answer.
    expect([acknowledged, acknowledged + 1]).toContain(row?.["n"]);
    expect(row?.["last"]).toBe(row?.["n"]);
  });

  test("of our process right before the next start: that start waits for the server to end, or adopts it", async () => {
    const data_dir = await madeDir();
    const { child, answer } = await hosted({ data_dir });
    await sql(answer.connection, "create table t as select generate_series(1, 100000) as n");
    child.kill("SIGKILL");
    const { connection } = await started({ data_dir });
    // The dead process's watchdog may stop the server after the takeover. Then it restarts, and the pool continues.
    const db = openDb(connection, silentLog);
    onTestFinished(() => db.close());
    expect(await db.system((query) => query("select count(*)::int as n from t"))).toEqual([{ n: 100_000 }]);
  });

  test("of the server or of a session's process: it restarts, and the pool continues without errors to its callers", async () => {
    const server = await started({ data_dir: await madeDir() });
    const db = openDb(server.connection, silentLog);
    onTestFinished(() => db.close());
    await db.system((query) => query("create table t as select 1 as n"));
    const before = server.pid();
    process.kill(before, "SIGKILL");
    await gone(before);
    // Sessions outlive the server briefly, so one may answer before the restart.
    expect(await db.system((query) => query("select n from t"))).toEqual([{ n: 1 }]);
    await expect.poll(() => server.pid(), { interval: 10 }).not.toBe(before);
    expect(await db.system((query) => query("select n from t"))).toEqual([{ n: 1 }]);
    const restarted = server.pid();
    process.kill(restarted, "SIGKILL");
    // Waits, because a session that dies between statement and commit leaves the outcome unknown.
    await gone(restarted);
    expect(await db.system((query) => query("select n from t"))).toEqual([{ n: 1 }]);
    const [session] = await db.query<{ pid: number }>("select pg_backend_pid() as pid");
    process.kill(session?.pid ?? 0, "SIGKILL");
    expect(await db.system((query) => query("select n from t"))).toEqual([{ n: 1 }]);
  });

  test.skipIf(!linux)(
    "of everything but the server leaves an orphan that the next start adopts, supervises and stops",
    async () => {
      const data_dir = await madeDir();
      const { child, answer } = await hosted({ data_dir });
      await sql(answer.connection, "create table t as select 1 as n");
      await orphan(child);

      const server = await started({ data_dir });
      expect(server.pid()).toBe(answer.pid);
      const db = openDb(server.connection, silentLog);
      onTestFinished(() => db.close());
      expect(await db.system((query) => query("select n from t"))).toEqual([{ n: 1 }]);

      process.kill(answer.pid, "SIGKILL");
      await gone(answer.pid);
      expect(await db.system((query) => query("select n from t"))).toEqual([{ n: 1 }]);
      const restarted = server.pid();
      await server.stop();
      await gone(restarted);
    },
  );

  test.skipIf(!linux)("of a process that had adopted an orphan stops the orphan", async () => {
    const data_dir = await madeDir();
    const first = await hosted({ data_dir });
    await orphan(first.child);
    const second = await hosted({ data_dir });
    expect(second.answer.pid).toBe(first.answer.pid);
    second.child.kill("SIGKILL");
    await gone(first.answer.pid);
  });
});

describe("a server that cannot start", () => {
  test("is reported at once, with its last log lines, and not retried repeatedly", async () => {
    const data_dir = await madeDir();
    const wal = join(data_dir, "postgres/db/pg_wal");
    for (const name of await readdir(wal)) if (name.startsWith("0")) await rm(join(wal, name));
    const warnings: unknown[] = [];
    const log = { ...silentLog, warn: (fields: unknown) => void warnings.push(fields) };
    await expect(startEmbedded({ data_dir }, log)).rejects.toThrow(
      /does not start: .*could not locate a valid checkpoint/,
    );
    expect(warnings.filter((fields) => JSON.stringify(fields).includes("PANIC"))).toHaveLength(1);
  });

  test("is detected, however soon it ends", async () => {
    const data_dir = await madeDir();
    const home = join(data_dir, "postgres");
    const cluster = { data_dir, home, db_dir: join(home, "db"), identity: null };
    for (let time = 0; time < 10; time += 1)
      await expect(startPostmaster(cluster, "/nowhere", {}, silentLog)).rejects.toThrow(PostmasterFailed);
  });
});

describe("leftovers of an earlier run", () => {
  test("pid files with a number that now belongs to another process do not prevent a start", async () => {
    const data_dir = await madeDir();
    const home = join(data_dir, "postgres");
    const first = await started({ data_dir });
    const lock = (await readdir(join(home, "run"))).find((name) => name.endsWith(".lock")) ?? "";
    const [note, beside] = await Promise.all(
      ["db/postmaster.pid", `run/${lock}`].map((name) => readFile(join(home, name), "utf8")),
    );
    await first.stop();
    // Runs as the server's user. Otherwise PostgreSQL would know that this process is not its predecessor.
    const { uid, gid } = await stat(join(home, "db"));
    const stranger = spawn("sleep", ["3600"], { uid, gid, cwd: "/" });
    onTestFinished(() => void stranger.kill("SIGKILL"));
    const renumbered = (text = "") => text.replace(/^\d+/, String(stranger.pid));
    await writeFile(join(home, "db/postmaster.pid"), renumbered(note));
    await writeFile(join(home, "run", lock), renumbered(beside));
    const second = await started({ data_dir });
    expect(await sql(second.connection, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  test("a copy made while the server ran is a separate database", async () => {
    const data_dir = await madeDir();
    const original = await started({ data_dir });
    await sql(original.connection, "create table t as select 42 as n");
    const copy = join(await temporaryDir(), "data");
    execFileSync("cp", ["-a", data_dir, copy]);
    const other = await started({ data_dir: copy });
    expect(other.pid()).not.toBe(original.pid());
    expect(await sql(other.connection, "update t set n = 43 returning n")).toEqual([{ n: 43 }]);
    await other.stop();
    expect(await sql(original.connection, "select n from t")).toEqual([{ n: 42 }]);
  });

  test("an incomplete database of a killed start is deleted; an empty directory in its place is used", async () => {
    const data_dir = await temporaryDir();
    await mkdir(join(data_dir, "postgres/new-1/base"), { recursive: true });
    await mkdir(join(data_dir, "postgres/db"));
    const { connection } = await started({ data_dir });
    expect(await sql(connection, "select 1 as one")).toEqual([{ one: 1 }]);
    await expect(stat(join(data_dir, "postgres/new-1"))).rejects.toThrow("ENOENT");
  });

  test.each(["missing", "empty"])("a database whose PG_VERSION is %s is not treated as missing", async (how) => {
    const data_dir = await madeDir();
    const version = join(data_dir, "postgres/db/PG_VERSION");
    if (how === "missing") await rm(version);
    else await writeFile(version, "");
    const files = await readdir(join(data_dir, "postgres"));
    await expect(started({ data_dir })).rejects.toThrow(
      /is damaged, its PG_VERSION .* restore .* from a backup, or move/,
    );
    expect(await readdir(join(data_dir, "postgres"))).toEqual(files);
  });

  test("a database that root copied without owners is refused with the command that fixes it, then starts", async ({
    skip,
  }) => {
    if (process.getuid?.() !== 0) return skip("only root has PostgreSQL run as somebody else");
    const data_dir = await madeDir();
    const copy = join(await temporaryDir(), "data");
    await cp(data_dir, copy, { recursive: true });
    const refused = await started({ data_dir: copy }).catch((error: Error) => error);
    expect(refused).toBeInstanceOf(StartRefused);
    const [, advice = ""] = /belongs to root, .* (chown -R .*)$/.exec(String(refused)) ?? [];
    execFileSync("/bin/sh", ["-c", advice]);
    const { connection } = await started({ data_dir: copy });
    expect(await sql(connection, "select 1 as one")).toEqual([{ one: 1 }]);
  });
});
