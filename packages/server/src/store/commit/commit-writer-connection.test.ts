import pg from "pg";
import { afterEach, describe, expect, it, onTestFinished, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { decisionRows } from "../../testing/database/decision-rows.ts";
import { started, temporaryDir } from "../../testing/database/embedded.ts";
import { openNetwork } from "../../testing/network/network.ts";
import { openClient } from "../database/connection.ts";
import { createHead } from "../organizations/heads.ts";
import { callsOf, encode } from "./commit-records.ts";
import { connectCommit, shareFlush } from "./commit-writer-connection.ts";

const { connection, db } = await testDatabase();
const ids = createIds(createClock());

describe("the barrier", () => {
  it("answers a call only after a flush that began later; calls during a flush share the next one", async () => {
    const flushes: (() => void)[] = [];
    const durable = shareFlush(() => new Promise<void>((resolve) => flushes.push(resolve)));
    const answered: string[] = [];
    const call = (name: string) => durable().then(() => answered.push(name));
    const first = call("first");
    await expect.poll(() => flushes.length).toBe(1);
    const others = Promise.all([call("second"), call("third")]);
    flushes[0]?.();
    await first;
    expect(answered).toEqual(["first"]);
    await expect.poll(() => flushes.length).toBe(2);
    flushes[1]?.();
    await others;
    expect([answered, flushes.length]).toEqual([["first", "second", "third"], 2]);
  });

  it("a failed flush makes the outcome unknown for its callers, and the next flush is a new one", async () => {
    let n = 0;
    const refusal = Object.assign(new Error("division by zero"), { code: "22012", severity: "ERROR" });
    const durable = shareFlush(() => (++n === 1 ? Promise.reject(refusal) : Promise.resolve()));
    const failed = await durable().catch((error: unknown) => error);
    expect(failed).toMatchObject({ message: "the log could not be flushed", cause: refusal });
    expect(failed).not.toHaveProperty("code");
    await durable();
    expect(n).toBe(2);
  });
});

test("no commit is sent if its session and the barrier are on different servers", async () => {
  const old = await started({ data_dir: await temporaryDir() });
  const promoted = await started({ data_dir: await temporaryDir() });
  const network = await openNetwork(old.connection, promoted.connection);
  onTestFinished(() => network.close());
  await expect(connectCommit(network.connection)()).rejects.toThrow("two servers");
  expect(network.asked()).toBe(2);
});

test.each(["first", "second"])("no session stays open if the %s could not be opened", async (refused) => {
  const { query } = pg.Client.prototype;
  onTestFinished(() => {
    pg.Client.prototype.query = query;
  });
  pg.Client.prototype.query = function (this: pg.Client, asked: unknown) {
    if (typeof asked === "string" && asked.includes("plan_cache_mode") === (refused === "first"))
      return Promise.reject(new Error("refused"));
    return (query as (asked: unknown) => Promise<unknown>).call(this, asked);
  } as never;
  await expect(connectCommit(connection)()).rejects.toThrow("refused");
  pg.Client.prototype.query = query;
  await expect
    .poll(() =>
      db.query("select from pg_stat_activity where datname = current_database() and application_name like '%writer'"),
    )
    .toEqual([]);
});

describe("a commit reaches the disk", () => {
  const { query } = pg.Client.prototype;
  afterEach(() => {
    pg.Client.prototype.query = query;
  });

  /** Returns two sessions and records their statements. Statements that begin with `refuses` fail. */
  async function listened(refuses = "nothing at all", quick_flush_ms = 0) {
    const org_id = ids.next("organization");
    await db.tenant(org_id, (each) => createHead(each, org_id, "2026-11"));
    const session = await connectCommit(connection, { quick_flush_ms })();
    const statements: string[] = [];
    pg.Client.prototype.query = function (this: pg.Client, asked: string | { readonly name: string }) {
      const words = typeof asked === "string" ? asked : asked.name.replace("-decisions", "");
      if (words.startsWith(refuses)) return Promise.reject(new Error("refused"));
      statements.push(words);
      return (query as (asked: unknown) => Promise<unknown>).call(this, asked);
    } as never;
    const rows = () => decisionRows(ids, org_id);
    return {
      rows,
      async commit(again = false, each = rows()) {
        const [settled] = await session.commit(callsOf([encode(each)], again));
        if (settled?.status !== "fulfilled") throw settled?.reason;
        return settled.value;
      },
      commitRows: (count: number, organizations = 1) =>
        session.commit(
          callsOf(
            Array.from({ length: count }, (_, n) =>
              encode(n % organizations === 0 ? rows() : { ...rows(), org_id: `org_nobody_${n % organizations}` }),
            ),
            false,
          ),
        ),
      statements: () => statements.splice(0),
      close: () => session.close(),
    };
  }

  it("by its own flush while statements come one at a time, by the barrier when they overlap", async () => {
    const { commit, statements, close } = await listened();
    await commit();
    expect(statements()).toEqual(["commit", "flush-log"]);
    await commit();
    expect(statements()).toEqual(["set synchronous_commit = on", "commit"]);
    await commit();
    expect(statements()).toEqual(["commit"]);
    await Promise.all([commit(), commit(), commit()]);
    const [first, second, third, fourth, ...others] = statements();
    expect([first, second, third, fourth]).toEqual(["commit", "set synchronous_commit = off", "commit", "commit"]);
    expect(new Set(others)).toEqual(new Set(["flush-log"]));
    await commit();
    await commit();
    expect(statements()).toEqual(["commit", "flush-log", "set synchronous_commit = on", "commit"]);
    close();
  });

  it("by its own flush on a quick disk while statements are small on average, else by the barrier", async () => {
    const { commit, commitRows, statements, close } = await listened(undefined, Number.POSITIVE_INFINITY);
    await commit();
    expect(statements()).toEqual(["set synchronous_commit = on", "commit"]);
    await Promise.all([commit(), commit(), commit()]);
    expect(statements()).toEqual(["commit", "commit", "commit"]);
    for (let n = 0; n < 3; n++) await Promise.all([commitRows(64), commitRows(64)]);
    expect(statements()).toContain("set synchronous_commit = off");
    await Promise.all([commitRows(64), commitRows(64)]);
    expect(new Set(statements())).toEqual(new Set(["commit", "flush-log"]));
    for (let n = 0; n < 8; n++) await Promise.all([commit(), commit()]);
    expect(statements()).toContain("set synchronous_commit = on");
    await Promise.all([commit(), commit()]);
    expect(statements()).toEqual(["commit", "commit"]);
    close();
  });

  it("by one barrier if a batch has several organizations", async () => {
    const { commitRows, statements, close } = await listened(undefined, Number.POSITIVE_INFINITY);
    const settled = await commitRows(6, 3);
    expect(statements()).toEqual(["commit", "commit", "commit", "flush-log"]);
    expect(settled.map((each) => each.status === "fulfilled" && each.value.map(({ state }) => state))).toEqual([
      [],
      ["no_head", "no_head"],
      ["no_head", "no_head"],
    ]);
    close();
  });

  it.each([
    ["off", "on"],
    ["remote_apply", "remote_apply"],
  ])("with synchronous_commit = %s in the database", async (chosen, ours) => {
    const operator = await openClient(connection, "operator");
    const { name } = (await operator.query("select quote_ident(current_database()) as name")).rows[0];
    await operator.query(`alter database ${name} set synchronous_commit = ${chosen}`);
    onTestFinished(async () => {
      await operator.query(`alter database ${name} reset synchronous_commit`);
      await operator.end();
    });
    const { commit, statements, close } = await listened();
    await commit();
    await commit();
    expect(statements()).toEqual(["commit", "flush-log", `set synchronous_commit = ${ours}`, "commit"]);
    close();
  });

  it("by the barrier, too, if the answer depends on commits of others", async () => {
    const { commit, statements, close, rows } = await listened();
    const committed = rows();
    await commit(false, committed);
    await commit();
    statements();
    expect(await commit(true, committed)).toHaveLength(1);
    expect(statements()).toEqual(["commit", "flush-log"]);
    close();
  });

  it("by its own flush, without changed settings, if the server has no function for the barrier", async () => {
    pg.Client.prototype.query = function (this: pg.Client, asked: { readonly name?: string }, ...values: unknown[]) {
      if (asked.name === "flush-log")
        return Promise.reject(Object.assign(new Error("no such function"), { code: "42883", severity: "ERROR" }));
      return (query as (...all: unknown[]) => Promise<unknown>).call(this, asked, ...values);
    } as never;
    const { commit, statements, close } = await listened();
    await Promise.all([commit(), commit()]);
    expect(statements()).toEqual(["commit", "commit"]);
    close();
  });

  it("or has an unknown outcome, if the session's setting could not be changed", async () => {
    const { commit, close } = await listened("set synchronous_commit = on");
    await commit();
    await expect(commit()).rejects.toThrow("refused");
    await expect(commit()).rejects.toThrow("refused");
    close();
  });
});
