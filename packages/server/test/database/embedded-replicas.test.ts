import { Writable } from "node:stream";
import { operations } from "@countersign/contract";
import { expect, onTestFinished, test } from "vitest";
import { createClock } from "../../src/edge/clock.ts";
import { createIds } from "../../src/edge/ids.ts";
import type { Log } from "../../src/ports.ts";
import { auditRow } from "../../src/store/audit/audit.ts";
import type { ConnectionOptions } from "../../src/store/database/connection.ts";
import { type Database, openDb } from "../../src/store/database/db.ts";
import { migrate } from "../../src/store/database/migrate.ts";
import { nameOf } from "../../src/store/database/replicas.ts";
import { withHead } from "../../src/store/organizations/heads.ts";
import { exportFrom, exportSource } from "../../src/store/upkeep/export-source.ts";
import { inspectReplicas } from "../../src/store/upkeep/inspect-replicas.ts";
import { sql, temporaryDir } from "../../src/testing/database/embedded.ts";
import { openPair } from "../../src/testing/database/standby.ts";
import { testOrganization } from "../../src/testing/nodes/http-node.ts";
import { silentLog } from "../../src/testing/nodes/silent-log.ts";
import { wholeService } from "../../src/testing/nodes/whole-service.ts";

const clock = createClock();
const ids = createIds(clock);

/** Revokes a key and returns the seq of its audit record. */
async function change(db: Database, org_id: string): Promise<number> {
  const at = new Date().toISOString().replace("Z", "000Z");
  const entry = auditRow(ids, { intent_id: null, type: "key_revoked", actor: "system", at, data: {} });
  return (await db.tenant(org_id, (query) => withHead(query, org_id, { audit: [entry] }))).audit_seq;
}

/** Returns a dump's rows and its replica. Awaits `onPiece` at the first piece. */
async function dumped(
  primary: ConnectionOptions,
  replicas: readonly ConnectionOptions[],
  onPiece: () => Promise<unknown> = async () => undefined,
) {
  const pieces: string[] = [];
  const output = new Writable({
    decodeStrings: false,
    // The dump reads no further while `onPiece` runs.
    highWaterMark: 1,
    write(piece: string, _encoding, done) {
      if (pieces.push(piece) > 1) return done();
      onPiece().then(() => done(), done);
    },
  });
  const { replica } = await exportFrom(primary, replicas, output, silentLog);
  return { replica, rows: pieces.join("").split("\n").slice(1, -2) };
}

async function onStandby(db: Database, org_id: string, wanted: Parameters<Database["reading"]>[1]): Promise<boolean> {
  const rows = await db.reading(org_id, wanted, (query) =>
    query<{ standby: boolean }>("select pg_is_in_recovery() as standby"),
  );
  return rows[0]?.standby === true;
}

function openWith(primary: ConnectionOptions, replica: ConnectionOptions) {
  const warnings: object[] = [];
  const log: Log = { ...silentLog, warn: (fields) => void warnings.push(fields) };
  const db = openDb(primary, log, { replicas: [replica], replica_rest_ms: 50 });
  onTestFinished(() => db.close());
  return { db, warnings };
}

test("a replica serves the rows it has, each organization its own; the primary serves the rest in the same call", async () => {
  const pair = await openPair();
  await migrate(pair.primary.connection, silentLog);
  await pair.replayed();
  const { db, warnings } = openWith(pair.primary.connection, pair.networks.standby.connection);
  const { org_id } = await testOrganization(db);
  const other = await testOrganization(db);
  const seq = await change(db, org_id);
  await pair.replayed();
  expect(await onStandby(db, org_id, { seq })).toBe(true);
  expect(db.reads()).toEqual({ replica: 1, primary: 0, replicas_in_use: 1 });

  const seen = (query: Parameters<Parameters<Database["reading"]>[2]>[0]) =>
    query("select org_id, pg_is_in_recovery() as standby from org_heads");
  expect(await db.reading(org_id, { seq: 0 }, seen)).toEqual([{ org_id, standby: true }]);
  expect(await db.reading(other.org_id, { seq: 0 }, seen)).toEqual([{ org_id: other.org_id, standby: true }]);
  const writing = db.reading(org_id, { seq: 0 }, (query) => query("delete from org_heads where org_id = $1", [org_id]));
  await expect(writing).rejects.toThrow(/read-only transaction/);
  await expect(db.reading("org'", { seq: 0 }, seen)).rejects.toThrow("not an organization id");
  const failing = db.reading(org_id, { seq: 0 }, () => Promise.reject(new Error("of the work")));
  await expect(failing).rejects.toThrow("of the work");

  await sql(pair.standby, "select pg_wal_replay_pause()", "postgres");
  const newer = await change(db, org_id);
  const sources = [pair.primary.connection, [pair.standby]] as const;
  expect(await exportSource(...sources, 100)).toMatchObject({
    ...{ connection: pair.primary.connection, replica: null },
    passed_over: [{ reason: "it is more than 0.1 s behind" }],
  });
  expect(await onStandby(db, org_id, { seq: newer })).toBe(false);
  expect(await onStandby(db, org_id, { within_s: 0 })).toBe(false);
  expect(await onStandby(db, org_id, { seq })).toBe(true);
  expect(await onStandby(db, org_id, { within_s: 3_600 })).toBe(true);
  expect(await onStandby(db, other.org_id, { within_s: 0 })).toBe(true);
  const { org_id: newest } = await testOrganization(db);
  expect(await onStandby(db, newest, { seq: 0 })).toBe(false);
  await sql(pair.standby, "select pg_wal_replay_resume()", "postgres");
  await pair.replayed();
  expect(await inspectReplicas(...sources)).toMatchObject([
    { state: { standby: true, same_system: true, behind_bytes: 0, feedback: false } },
  ]);
  await sql(pair.primary.connection, "revoke execute on function pg_control_system() from public", "postgres");
  await pair.replayed();
  expect(await inspectReplicas(...sources)).toMatchObject([{ state: { standby: true, same_system: true } }]);
  const closed = { ...pair.standby, host: await temporaryDir() };
  expect(await inspectReplicas(pair.standby, [closed])).toMatchObject([
    { name: nameOf(closed), unreachable: expect.stringContaining("ENOENT") },
  ]);
  const [from_standby, from_primary] = [await dumped(...sources), await dumped(pair.primary.connection, [])];
  expect([from_standby.replica, from_primary.replica]).toEqual([nameOf(pair.standby), null]);
  expect(from_standby.rows).toEqual(from_primary.rows);
  expect(await onStandby(db, org_id, { seq: newer })).toBe(true);
  expect(await onStandby(db, newest, { seq: 0 })).toBe(true);
  expect(warnings).toEqual([]);

  // Replay conflict, timeout and unknown table keep the replica; a shutdown does not.
  for (const [code, in_use] of [
    ["40001", 1],
    ["57014", 1],
    ["42P01", 1],
    ["57P01", 0],
  ] as const) {
    const onPrimary = await db.reading(org_id, { seq }, async (query) => {
      await query(`do $$ begin if pg_is_in_recovery() then raise sqlstate '${code}'; end if; end $$`);
      return query("select pg_is_in_recovery() as standby");
    });
    expect(onPrimary).toEqual([{ standby: false }]);
    expect(db.reads().replicas_in_use).toBe(in_use);
  }
  await expect.poll(() => db.reads().replicas_in_use).toBe(1);
  expect(warnings).toMatchObject([{ replica: pair.addresses.standby }]);
  expect(await onStandby(db, org_id, { seq })).toBe(true);

  const nowhere = openWith(pair.primary.connection, { ...pair.standby, host: await temporaryDir() });
  for (let time = 0; time < 3; time += 1) expect(await onStandby(nowhere.db, org_id, { seq })).toBe(false);
  expect(nowhere.warnings).toMatchObject([{ reason: expect.stringContaining("ENOENT") }]);

  const servers: boolean[] = [];
  const answer = await db.reading(org_id, { seq }, async (query) => {
    const [row] = await query<{ standby: boolean }>("select pg_is_in_recovery() as standby");
    servers.push(row?.standby === true);
    if (servers.length === 1) await pair.kill();
    return query("select org_id from org_heads");
  });
  expect({ servers, answer }).toEqual({ servers: [true, false], answer: [{ org_id }] });
  expect(await onStandby(db, org_id, { seq })).toBe(false);
  expect(db.reads().replicas_in_use).toBe(0);
  expect(warnings.length).toBe(2);
});

test("a promoted standby is not read as a replica, nor after a demotion with a diverged history", async () => {
  const pair = await openPair();
  await migrate(pair.primary.connection, silentLog);
  const { db, warnings } = openWith(pair.primary.connection, pair.networks.standby.connection);
  const { org_id } = await testOrganization(db);
  const seq = await change(db, org_id);
  await pair.replayed();
  expect(await onStandby(db, org_id, { seq })).toBe(true);

  const sources = [pair.primary.connection, [pair.standby]] as const;
  const sessions = "from pg_stat_activity where application_name = 'countersign export'";
  const cut = () => sql(pair.standby, `select pg_terminate_backend(pid) ${sessions}`, "postgres");
  expect(await exportSource(...sources)).toMatchObject({ replica: nameOf(pair.standby), passed_over: [] });
  await expect(dumped(...sources, cut)).rejects.toThrow(
    /^the replica .* ended the dump \(.+\): set hot_standby_feedback = on there, or read the primary/,
  );

  await pair.promote();
  expect(await exportSource(...sources)).toMatchObject({ passed_over: [{ reason: "it is not a standby" }] });
  expect(await inspectReplicas(...sources)).toMatchObject([{ state: { standby: false, same_system: true } }]);
  const told = [{ reason: "it is a primary, not a standby" }];
  expect(await onStandby(db, org_id, { seq })).toBe(false);
  expect(warnings).toMatchObject(told);
  expect(db.reads()).toMatchObject({ replica: 1, replicas_in_use: 0 });

  // A split brain: both servers act as primary and diverge.
  const split = openDb(pair.standby, silentLog);
  await change(split, org_id);
  await change(split, org_id);
  const here = await change(db, org_id);
  await change(db, org_id);
  await split.close();
  // The diverged server has more log than the primary, however busy that is. So it is not merely behind.
  await sql(pair.standby, "select pg_logical_emit_message(false, 'more', repeat('x', 4000000))", "postgres");
  await pair.demote();
  // The diverged server reports itself as a standby again, with records of the wanted numbers.
  const again = openWith(pair.primary.connection, pair.standby);
  for (const wanted of [{ seq }, { seq: here }, { within_s: 3_600 }]) {
    expect(await onStandby(again.db, org_id, wanted)).toBe(false);
    expect(again.warnings).toMatchObject([
      { reason: expect.stringMatching(/^its data is not a part of the primary's/) },
    ]);
  }
  const lost = { passed_over: [{ reason: "its data is not a part of the primary's" }], replica: null };
  expect(await exportSource(...sources)).toMatchObject(lost);
});

function statementsOn() {
  const statements: string[] = [];
  const debug: Log["debug"] = (fields) => {
    const line = String((fields as { postgres?: unknown }).postgres);
    if (/statement: |execute /.test(line)) statements.push(line);
  };
  return { log: { ...silentLog, debug }, statements };
}

/** Statements of opening a session, and the test's markers. */
const ofOpening =
  /select pg_backend_pid\(\)|'transaction_read_only'|statement: set (?:session|idle_session)|'from here on'/;

/** Paths that a standby serves, or that read no database. */
const readElsewhere = ["/v1/overview", "/v1/policies/fired", "/v1/exports/receipts", "/metrics"];

async function serviceOn(pair: Awaited<ReturnType<typeof openPair>>) {
  const at = (...addresses: string[]) => `postgres://countersign@${addresses.join(",")}/countersign`;
  const service = await wholeService({
    DATABASE_URL: at(pair.addresses.standby, pair.addresses.primary),
    DATABASE_REPLICA_URLS: `${at(pair.addresses.standby)} ${at(pair.addresses.primary)}`,
    COUNTERSIGN_DATA_DIR: await temporaryDir(),
    COUNTERSIGN_RATE_LIMITS: "intents=100000,general=100000,backtest=1000",
  });
  let key = "";
  const send = async (path: string, body?: object) => {
    const headers = { "content-type": "application/json", ...(key === "" ? {} : { "x-api-key": key }) };
    const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await fetch(`${service.url}${path}`, init);
    return { status: answer.status, body: await answer.text() };
  };
  const get = async (path: string) => JSON.parse((await send(path)).body);
  const organization = { org_name: "Acme", email: "you@example.com", description: "an agent that pays invoices" };
  key = JSON.parse((await send("/v1/onboarding/quickstart", organization)).body).api_key;
  const submit = async (payer: string) => {
    const action = { type: "payment.transfer", verb: "send_money" };
    const intent = { agent: { id: payer }, action, payload: { content: { amount_usd: 12 } } };
    return (await send("/v1/intents", { intent })).status;
  };
  const metric = async (name: string) => {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    return Number(
      text
        .split("\n")
        .find((line) => line.startsWith(`${name} `))
        ?.split(" ")[1],
    );
  };
  const reads = async () => ({
    replica: await metric('countersign_replica_reads_total{server="replica"}'),
    primary: await metric('countersign_replica_reads_total{server="primary"}'),
  });
  return { send, get, submit, metric, reads };
}

test("pages, the overview, counts of rules and backtests are read on a standby, nothing else is, and a failover loses nothing", async () => {
  const { log, statements } = statementsOn();
  const pair = await openPair(log, { log_statement: "all" });
  const { send, get, submit, metric, reads } = await serviceOn(pair);
  const acknowledged = ["a", "b", "c", "d"];
  for (const agent of acknowledged) expect(await submit(agent)).toBe(201);
  await pair.replayed();

  const { intents } = await get("/v1/intents?limit=100");
  for (const list of ["intents", "audit", `intents/${intents[0].intent_id}/audit`]) {
    const whole = await get(`/v1/${list}?limit=100`);
    const name = list.startsWith("intents/") ? "audit" : list;
    expect(whole[name].length).toBeGreaterThan(1);
    const rows: unknown[] = [];
    const before = await reads();
    for (let cursor = ""; ; ) {
      const page = await get(`/v1/${list}?limit=1${cursor}`);
      rows.push(...page[name]);
      if (page.next_cursor === null) break;
      cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
    }
    expect(rows).toEqual(whole[name]);
    expect(await reads()).toEqual({ replica: before.replica + rows.length - 1, primary: before.primary });
  }
  const { overview } = await get("/v1/overview");
  expect(overview.decisions).toBe(4);
  const earlier = await reads();
  expect(Array.isArray((await get("/v1/policies/fired")).fired.rules)).toBe(true);
  expect(await reads()).toEqual({ replica: earlier.replica + 1, primary: earlier.primary });
  const [from, to] = [new Date(Date.now() - 3_600_000), new Date(Date.now() + 3_600_000)].map((each) =>
    each.toISOString(),
  );
  const backtest = await send("/v1/learning/backtest", { window: { from, to } });
  expect(JSON.parse(backtest.body)).toMatchObject({ backtest: { evaluated: 4 } });
  await expect
    .poll(() => statements.some((line) => /select intent_id, membrane_id, mode, verdict, .* as at_us/.test(line)))
    .toBe(true);

  const before = await reads();
  await sql(pair.standby, "select 'from here on'");
  const paths = Object.values(operations).flatMap(({ method, path }) => (method === "GET" ? [path as string] : []));
  for (const path of paths) {
    if (readElsewhere.includes(path) || path.includes("{")) continue;
    await send(path);
  }
  await send(`/v1/intents/${intents[0].intent_id}`);
  await sql(pair.standby, "select 'to here'");
  await expect.poll(() => statements.some((line) => line.includes("'to here'"))).toBe(true);
  const [begin, end] = ["'from here on'", "'to here'"].map((mark) =>
    statements.findIndex((line) => line.includes(mark)),
  );
  const others = statements.slice(begin, end).filter((line) => !ofOpening.test(line));
  expect(others).toEqual([]);
  expect(await reads()).toEqual(before);
  expect(await metric("countersign_replicas_in_use")).toBe(1);

  await pair.primary.stop();
  await pair.promote();
  await expect.poll(() => submit("after")).toBe(201);
  const agents = (await get("/v1/intents")).intents.map(({ agent }: { agent: { id: string } }) => agent.id).sort();
  expect(agents).toEqual([...acknowledged, "after"].sort());
  const page = await get("/v1/intents?limit=2");
  const next = await get(`/v1/intents?limit=2&cursor=${encodeURIComponent(page.next_cursor)}`);
  expect(next.intents.length).toBe(2);
  expect((await reads()).replica).toBe(before.replica);
  expect(await metric("countersign_replicas_in_use")).toBe(0);
});
