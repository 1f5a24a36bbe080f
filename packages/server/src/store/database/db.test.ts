import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { isConnectionLost, openClient, sqlState } from "./connection.ts";
import { type Database, type NamedStatement, openDb } from "./db.ts";

let db: Database;
let connection: Awaited<ReturnType<typeof testDatabase>>["connection"];

beforeAll(async () => {
  ({ db, connection } = await testDatabase());
  for (const org_id of ["org_a", "org_b"]) {
    await db.query("insert into usage_periods values ($1, '2026-11', 1)", [org_id]);
  }
});

/** Runs as an operator, because sessions may lack the right. */
async function terminate(where: string): Promise<number | null> {
  const operator = await openClient(connection, "operator");
  const { rowCount } = await operator.query(`select pg_terminate_backend(pid, 5000) from pg_stat_activity
    where datname = current_database() and application_name = 'countersign' and ${where}`);
  await operator.end();
  return rowCount;
}

const orgs = "select org_id from usage_periods order by 1";

describe("scopes", () => {
  test("a tenant's transaction sees only its own rows, even without a WHERE", async () => {
    expect(await db.tenant("org_a", (query) => query(orgs))).toEqual([{ org_id: "org_a" }]);
    expect(await db.tenant("org_c", (query) => query(orgs))).toEqual([]);
  });

  test("a tenant's transaction changes only its own rows", async () => {
    await db.tenant("org_a", (query) => query("update usage_periods set used = 7"));
    const rows = await db.system((query) => query("select org_id, used from usage_periods order by 1"));
    expect(rows).toEqual([
      { org_id: "org_a", used: 7 },
      { org_id: "org_b", used: 1 },
    ]);
    await expect(
      db.tenant("org_a", (query) => query("insert into usage_periods values ('org_b', '2026-12', 1)")),
    ).rejects.toThrow(/row-level security/);
  });

  test("no session keeps the scope of an earlier borrower", async () => {
    const one = openDb(connection, silentLog, { tenant_sessions_max: 1 });
    onTestFinished(() => one.close());
    await one.tenant("org_a", (query) => query(orgs));
    await one.tenant("org_a", () => Promise.reject(new Error("rolled back"))).catch(() => undefined);
    expect(await one.tenant("org_b", (query) => query(orgs))).toEqual([{ org_id: "org_b" }]);
    const outside = await one.tenant("org_b", async (query) => {
      await query("rollback");
      return [await query("select current_setting('app.org') as scope"), await query(orgs)];
    });
    expect(outside).toEqual([[{ scope: "" }], []]);
  });

  test("the system scope sees every organization, in transactions and single statements", async () => {
    expect(await db.system((query) => query(orgs))).toHaveLength(2);
    expect(await db.query(orgs)).toHaveLength(2);
    expect(await db.named({ name: "all_orgs", text: orgs }, [])).toHaveLength(2);
  });

  test("an invalid organization id never reaches the server", async () => {
    await expect(db.tenant("org_a'; drop table audit; --", (query) => query(orgs))).rejects.toThrow(
      "not an organization id",
    );
  });

  test("sessions do not have a superuser's rights, even if a superuser connects", async () => {
    const [row] = await db.query(
      "select rolsuper or rolbypassrls as bypasses from pg_roles where rolname = current_user",
    );
    expect(row).toEqual({ bypasses: false });
  });
});

describe("values", () => {
  const value = async (sql: string) => Object.values((await db.query(`select ${sql} as v`))[0] ?? {})[0];

  test("timestamptz is RFC 3339 UTC text with all six digits", async () => {
    expect(await value("timestamptz '2026-11-21 04:05:06.123456+02'")).toBe("2026-11-21T02:05:06.123456Z");
    expect(await value("timestamptz '2026-11-21 04:05:06+00'")).toBe("2026-11-21T04:05:06.000000Z");
    expect(await value("timestamptz '2026-11-21 04:05:06.1+00'")).toBe("2026-11-21T04:05:06.100000Z");
    expect(await value("array[timestamptz '2026-11-21 04:05:06.5+00', null]")).toEqual([
      "2026-11-21T04:05:06.500000Z",
      null,
    ]);
  });

  test("a timestamp without an RFC 3339 form is refused, not changed", async () => {
    await expect(value("timestamptz 'infinity'")).rejects.toThrow("infinity");
  });

  test("int8 is a number if exact, else a bigint", async () => {
    expect(await value("9007199254740991::bigint")).toBe(9007199254740991);
    expect(await value("9007199254740993::bigint")).toBe(9007199254740993n);
    expect(await value("array[1, 2]::bigint[]")).toEqual([1, 2]);
    expect(await value("count(*)")).toBe(1);
  });

  test("a date is returned as its text, in any time zone of this machine", async () => {
    expect(await value("date '2026-02-28'")).toBe("2026-02-28");
  });

  test("a prepared statement is planned once under its name", async () => {
    const statement = { name: "sum_of_two", text: "select $1::int + $2::int as sum" };
    expect(await db.named(statement, [1, 2])).toEqual([{ sum: 3 }]);
    expect(await db.named(statement, [3, 4])).toEqual([{ sum: 7 }]);
  });
});

describe("transactions", () => {
  test("are rolled back when the work throws, and the error is passed on unchanged", async () => {
    const mistake = new Error("mine");
    const work = db.system(async (query) => {
      await query("insert into usage_periods values ('org_x', '2026-11', 1)");
      throw mistake;
    });
    await expect(work).rejects.toBe(mistake);
    expect(await db.tenant("org_x", (query) => query(orgs))).toEqual([]);
  });

  test("that conflict are retried until each has committed once", async () => {
    const bump = () =>
      db.system(async (query) => {
        await query("set transaction isolation level serializable");
        const [row] = await query<{ used: number }>("select used from usage_periods where org_id = 'org_b'");
        await query("update usage_periods set used = $1::bigint where org_id = 'org_b'", [(row?.used ?? 0) + 1]);
      });
    const [before] = await db.query<{ used: number }>("select used from usage_periods where org_id = 'org_b'");
    await Promise.all([bump(), bump(), bump()]);
    const [after] = await db.query<{ used: number }>("select used from usage_periods where org_id = 'org_b'");
    expect(after?.used).toBe((before?.used ?? 0) + 3);
  });

  test("fail after a bounded number of conflicts", async () => {
    let runs = 0;
    const always = db.system(async (query) => {
      runs += 1;
      await query("do $$ begin raise exception using errcode = '40001'; end $$");
    });
    const error = await always.catch((e: unknown) => e);
    expect(sqlState(error)).toBe("40001");
    expect(runs).toBe(5);
  });

  test("that lost their session before COMMIT are retried on another one", async () => {
    let runs = 0;
    const pid = await db.system(async (query) => {
      runs += 1;
      const [row] = await query<{ pid: number }>("select pg_backend_pid() as pid");
      if (runs === 1) await terminate(`pid = ${row?.pid}`);
      await query("select 1");
      return row?.pid;
    });
    expect(runs).toBe(2);
    expect(pid).toBeGreaterThan(0);
  });

  test("whose session the server ended while this process was suspended are retried on another session", async () => {
    let runs = 0;
    const answer = await db.system(async (query) => {
      runs += 1;
      if (runs === 1) {
        await query("set local idle_in_transaction_session_timeout = 50");
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
      }
      return query("select 1 as one");
    });
    expect([runs, answer]).toEqual([2, [{ one: 1 }]]);
    // Over TCP the next statement gets this error. A local socket refuses to send.
    for (const state of ["25P03", "25P04"]) {
      const ended = await db.query(`do $$ begin raise sqlstate '${state}'; end $$`).catch((error: unknown) => error);
      expect([sqlState(ended), isConnectionLost(ended)]).toEqual([state, true]);
    }
  });

  test("that lost their session during COMMIT are not retried, and count as a lost connection", async () => {
    const operator = await openClient(connection, "operator");
    onTestFinished(() => operator.end());
    await operator.query(`create table last_words (said text);
      create function end_session() returns trigger language plpgsql security definer as
        $$ begin perform pg_terminate_backend(pg_backend_pid()), pg_sleep(5); return null; end $$;
      create constraint trigger at_commit after insert on last_words deferrable initially deferred
        for each row execute function end_session();
      grant insert on last_words to public`);
    let runs = 0;
    const lost = await db
      .system(async (query) => {
        runs += 1;
        await query("insert into last_words values ('bye')");
      })
      .catch((error: unknown) => error);
    expect([runs, isConnectionLost(lost)]).toEqual([1, true]);
    expect((lost as Error).message).toBe("the outcome of a commit is unknown");
  });

  test("whose session ended before COMMIT arrived are retried, because they cannot have committed", async () => {
    let runs = 0;
    const answer = await db.system(async (query) => {
      runs += 1;
      const [row] = await query<{ pid: number }>("select pg_backend_pid() as pid");
      if (runs > 1) return row;
      await terminate(`pid = ${row?.pid}`);
      await query("select 1").catch(() => undefined);
      return row;
    });
    expect([runs, answer]).toEqual([2, { pid: expect.any(Number) }]);
  });

  test("that get no session wait for one once", async () => {
    const terms = { tenant_sessions_max: 1, acquire_timeout_ms: 1_000, restart_wait_ms: 60_000 };
    const small = openDb(connection, silentLog, terms);
    onTestFinished(() => small.close());
    await small.tenant("org_a", async () => {
      const started = performance.now();
      const refused = await small.tenant("org_b", (query) => query("select 1")).catch((error: unknown) => error);
      expect(isConnectionLost(refused)).toBe(true);
      expect(performance.now() - started).toBeLessThan(terms.restart_wait_ms / 2);
    });
  });

  test("a single statement that lost its session is not retried, because its outcome is unknown", async () => {
    const lost = db.query("select pg_sleep(60)").catch((e: unknown) => e);
    await expect.poll(() => terminate("query = 'select pg_sleep(60)' and wait_event = 'PgSleep'")).toBe(1);
    expect(isConnectionLost(await lost)).toBe(true);
    expect(await db.query("select 1 as one")).toEqual([{ one: 1 }]);
  });

  test("a read-only prepared statement that lost its session is retried on another one", async () => {
    const holder = await openClient(connection, "holder");
    onTestFinished(() => holder.end());
    const text = "select $1::text as said from pg_advisory_xact_lock_shared(7)";
    const ended = async (statement: NamedStatement) => {
      await holder.query("select pg_advisory_lock(7)");
      const answer = db.named(statement, ["hello"]).catch((error: unknown) => error);
      await expect.poll(() => terminate("wait_event = 'advisory'")).toBe(1);
      await holder.query("select pg_advisory_unlock(7)");
      return answer;
    };
    expect(await ended({ name: "reading", text, reads_only: true })).toEqual([{ said: "hello" }]);
    expect(isConnectionLost(await ended({ name: "writing", text }))).toBe(true);
  });

  test("a statement over its time limit is cancelled by the server", async () => {
    const hasty = openDb(connection, silentLog, { statement_timeout_ms: 50 });
    onTestFinished(() => hasty.close());
    expect(sqlState(await hasty.query("select pg_sleep(10)").catch((e: unknown) => e))).toBe("57014");
  });
});

describe("the pool", () => {
  test("survives the death of idle sessions", async () => {
    await Promise.all([db.query("select 1"), db.query("select 1"), db.tenant("org_a", (query) => query("select 1"))]);
    await terminate("state = 'idle'");
    expect(await db.query("select 1 as one")).toEqual([{ one: 1 }]);
    expect(await db.tenant("org_a", (query) => query("select 1 as one"))).toEqual([{ one: 1 }]);
  });

  test("counts its sessions and the waiting callers", async () => {
    const small = openDb(connection, silentLog, { system_sessions_max: 1 });
    onTestFinished(() => small.close());
    await small.system(async (query) => {
      const waiting = small.query("select 1");
      await query("select 1");
      expect(small.stats()).toEqual({ total: 1, idle: 0, waiting: 1 });
      void waiting.catch(() => undefined);
    });
  });

  test("keeps half of the tenants' sessions free of any one organization", async () => {
    const two = openDb(connection, silentLog, { tenant_sessions_max: 2, acquire_timeout_ms: 60_000 });
    const done: number[] = [];
    let go = () => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    onTestFinished(() => {
      go();
      return two.close();
    });
    const busy = [1, 2, 3].map((n) => two.tenant("org_a", () => held.then(() => done.push(n))));
    expect(await two.tenant("org_b", (query) => query(orgs))).toEqual([{ org_id: "org_b" }]);
    expect(two.stats().waiting).toBe(2);
    go();
    await Promise.all(busy);
    expect([done, two.stats().waiting]).toEqual([[1, 2, 3], 0]);
  });

  test("refuses a caller that waits too long for its organization's sessions, and serves later callers", async () => {
    const two = openDb(connection, silentLog, { tenant_sessions_max: 2, acquire_timeout_ms: 1_000 });
    onTestFinished(() => two.close());
    await two.tenant("org_a", async () => {
      const refused = await two.tenant("org_a", (query) => query(orgs)).catch((error: unknown) => error);
      expect(isConnectionLost(refused)).toBe(true);
    });
    expect(await two.tenant("org_a", (query) => query(orgs))).toEqual([{ org_id: "org_a" }]);
  });

  test("is closed when the server has ended all its sessions", async () => {
    const operator = await openClient(connection, "operator");
    onTestFinished(() => operator.end());
    for (let round = 0; round < 5; round += 1) {
      const one = openDb(connection, silentLog);
      const own = () => one.tenant("org_a", (query) => query<{ pid: number }>("select pg_backend_pid() as pid"));
      const pids = (await Promise.all(Array.from({ length: 8 }, own))).flat().map(({ pid }) => pid);
      await one.close();
      const { rows } = await operator.query("select pid from pg_stat_activity where pid = any ($1)", [pids]);
      expect(rows).toEqual([]);
    }
  });

  test("JIT compilation is off in every session, because it took longer than the statements", async () => {
    const shown = [db.tenant("org_1", (query) => query("show jit")), db.query("show jit")];
    expect(await Promise.all([...shown, db.queued({ name: "show-jit", text: "show jit" }, [])])).toEqual(
      Array.from({ length: 3 }, () => [{ jit: "off" }]),
    );
  });

  test("sessions have an application name and use UTC", async () => {
    expect(
      await db.query("select current_setting('application_name') as name, current_setting('timezone') as zone"),
    ).toEqual([{ name: "countersign", zone: "UTC" }]);
  });
});
