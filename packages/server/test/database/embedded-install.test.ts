import { chmod, chown, lstat, mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { StartRefused } from "../../src/store/database/start-refused.ts";
import { systemBinaries } from "../../src/store/embedded-postgres/binaries.ts";
import { canReach } from "../../src/store/embedded-postgres/identity.ts";
import { usableBinaries } from "../../src/store/embedded-postgres/usable-binaries.ts";
import { hosted, madeDir, packageCopy, sql, started, temporaryDir } from "../../src/testing/database/embedded.ts";

const root = process.getuid?.() === 0;
const icu = "native/lib/libicuuc.so.60";
/** User "daemon", which exists on every Linux. initdb needs an entry in /etc/passwd. */
const ordinary = 1;
const no_system = { path: "", usual_dirs: [] };
const system = await systemBinaries({ path: process.env["PATH"] ?? "" });

describe("the npm package's server", () => {
  test.skipIf(process.platform !== "linux")("gets the library links that npm did not create, in place", async () => {
    const dir = await temporaryDir();
    await chmod(dir, 0o755);
    const package_dir = await packageCopy(dir);
    await expect(lstat(join(package_dir, icu))).rejects.toThrow("ENOENT");
    const server = await started({ data_dir: join(dir, "data"), search: { package_dir, ...no_system } });
    expect(server.source).toBe("embedded");
    expect((await lstat(join(package_dir, icu))).isSymbolicLink()).toBe(true);
    expect(await readdir(join(dir, "data"))).toEqual(["claims", "postgres"]);
  });

  test.skipIf(!root)(
    "below a directory that only root may enter is copied once to a place that the server's user can read",
    async () => {
      const dir = await temporaryDir();
      const package_dir = await packageCopy(dir);
      // A unique version, so that this test makes the copy and can remove it.
      await writeFile(join(package_dir, "package.json"), JSON.stringify({ version: "18.4.0-test.1" }));
      const copy = `/var/cache/countersign/postgresql-18.4.0-test.1-${process.platform}-${process.arch}`;
      onTestFinished(() => rm(copy, { recursive: true, force: true }));
      const data_dir = await madeDir();
      const first = await started({ data_dir, search: { package_dir, ...no_system } });
      expect(await sql(first.connection, "select 1 as one")).toEqual([{ one: 1 }]);
      await first.stop();
      const { ino } = await stat(copy);
      await started({ data_dir, search: { package_dir, ...no_system } });
      expect((await stat(copy)).ino).toBe(ino);
    },
  );

  test("is copied to a readable place, also under a umask that excludes others", async () => {
    const [closed, open] = [await temporaryDir(), await temporaryDir()];
    await chmod(open, 0o755);
    const bin_dir = join(closed, "package/native/bin");
    for (const part of [bin_dir, join(closed, "package/native/share")]) await mkdir(part, { recursive: true });
    await writeFile(join(bin_dir, "postgres"), "", { mode: 0o700 });
    const identity = { uid: 65_534, gid: 65_534 };
    const binaries = { source: "embedded", bin_dir, version: "1", major: 1 } as const;
    const umask = process.umask(0o077);
    try {
      const copied = await usableBinaries(binaries, identity, closed, join(open, "cache"));
      expect(copied.startsWith(join(open, "cache/"))).toBe(true);
      expect(await canReach(join(copied, "postgres"), identity)).toBe(true);
    } finally {
      process.umask(umask);
    }
  });

  test.skipIf(!root)("gives advice to a user without an entry in /etc/passwd", async () => {
    const dir = await temporaryDir();
    await chown(dir, 54_321, 54_321);
    const { answer } = await hosted({ data_dir: dir }, 54_321);
    expect(answer.refused).toMatch(
      /user does not exist: give the user an entry in \/etc\/passwd, or set DATABASE_URL$/,
    );
  });

  test("works for an ordinary user from an installation that is read-only and lacks the links", async () => {
    const dir = await temporaryDir();
    await chmod(dir, 0o755);
    const package_dir = await packageCopy(dir);
    const data_dir = join(dir, "data");
    await mkdir(data_dir, { mode: 0o700 });
    // Root may write anywhere, so for root "read-only" is another user's directory.
    if (root) await chown(data_dir, ordinary, ordinary);
    else await chmod(join(package_dir, "native/lib"), 0o555);
    const { answer, child } = await hosted(
      { data_dir, search: { package_dir, ...no_system } },
      root ? ordinary : undefined,
    );
    expect(answer).toMatchObject({ source: "embedded" });
    expect(await sql(answer.connection, "select 1 as one")).toEqual([{ one: 1 }]);
    await expect(lstat(join(package_dir, icu))).rejects.toThrow("ENOENT");
    child.kill("SIGTERM");
    await expect.poll(() => child.exitCode).toBe(0);

    // Root must continue as the user who created the database.
    if (!root) return;
    const again = await started({ data_dir, search: { package_dir, ...no_system } });
    expect((await stat(join(data_dir, "postgres/db"))).uid).toBe(ordinary);
    expect(await sql(again.connection, "select 1 as one")).toEqual([{ one: 1 }]);
  });
});

describe("without the npm package", () => {
  test.skipIf(system.length === 0)(
    "finds and uses a PostgreSQL 15 or newer of the system, and keeps its database beside the package",
    async () => {
      const data_dir = await temporaryDir();
      const first = await started({ data_dir, search: { package_dir: null } });
      expect(first.source).toBe("system");
      expect(first.version).toBe(system[0]?.version);
      const major = "select current_setting('server_version_num')::int / 10000 as major";
      expect(await sql(first.connection, major)).toEqual([{ major: system[0]?.major }]);
      await sql(first.connection, "create table t as select 7 as n");
      await first.stop();
      const second = await started({ data_dir, search: { path: process.env["PATH"] ?? "" } });
      expect(second.source).toBe("system");
      expect(await sql(second.connection, "select n from t")).toEqual([{ n: 7 }]);
    },
  );

  test.skipIf(system.length === 0)("one in PATH is found", async () => {
    const path = system[0]?.bin_dir ?? "";
    expect(await systemBinaries({ path: `/nonexistent:${path}`, usual_dirs: [] })).toMatchObject([{ bin_dir: path }]);
  });

  test("and without one on the system refuses the start with what to install", async () => {
    const refused = started({ data_dir: await temporaryDir(), search: { package_dir: null, ...no_system } });
    await expect(refused).rejects.toThrow(StartRefused);
    await expect(refused).rejects.toThrow(
      /^no PostgreSQL server found: @embedded-postgres\/\S+ is not installed .* or set DATABASE_URL$/,
    );
  });
});

describe("a database made by another major version", () => {
  test("is refused with both versions and advice, and stays unchanged", async () => {
    const data_dir = await temporaryDir();
    await mkdir(join(data_dir, "postgres/db"), { recursive: true });
    await writeFile(join(data_dir, "postgres/db/PG_VERSION"), "14\n");
    const refused = started({ data_dir, search: no_system });
    await expect(refused).rejects.toThrow(StartRefused);
    await expect(refused).rejects.toThrow(
      /was created by PostgreSQL 14, but this installation has 18\..*: install PostgreSQL 14 beside it, or export/,
    );
    expect(await readdir(join(data_dir, "postgres/db"))).toEqual(["PG_VERSION"]);
    expect(await readdir(join(data_dir, "claims"))).toEqual([]);
  });
});
