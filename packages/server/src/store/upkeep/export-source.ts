import type { Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../ports.ts";
import { type ConnectionOptions, isConnectionLost, openClient, sqlState } from "../database/connection.ts";
import { nameOf, snapshot } from "../database/replicas.ts";
import { reasonOf, type Session } from "../database/session.ts";
import { StartRefused } from "../database/start-refused.ts";
import { exportDump } from "./export.ts";

export interface ExportSource {
  readonly connection: ConnectionOptions;
  /** Null: the primary. */
  readonly replica: string | null;
  readonly passed_over: readonly { readonly replica: string; readonly reason: string }[];
}

/** Timeout for a replica's replay. */
const replay_ms_max = 10_000;
const poll_ms = 100;
/** A commit may be on a replica before the primary shows it. */
const visible_ms = 1_000;
const ends_per_page = 10_000;

/**
 * Returns the first replica with all earlier commits and no data that the primary lacks, else the primary. A dump of a
 * diverged standby would miss decisions.
 */
export async function exportSource(
  primary: ConnectionOptions,
  replicas: readonly ConnectionOptions[],
  wait_ms = replay_ms_max,
): Promise<ExportSource> {
  const passed_over: { replica: string; reason: string }[] = [];
  if (replicas.length === 0) return { connection: primary, replica: null, passed_over };
  const main = await openClient(primary, "countersign export");
  try {
    const lsn = (await main.query("select pg_current_wal_flush_lsn()::text as lsn")).rows[0].lsn as string;
    for (const connection of replicas) {
      const reason = await problemOf(connection, main, lsn, wait_ms).catch(reasonOf);
      if (reason === null) return { connection, replica: nameOf(connection), passed_over };
      passed_over.push({ replica: nameOf(connection), reason });
    }
    return { connection: primary, replica: null, passed_over };
  } finally {
    await main.end();
  }
}

/** Writes a dump like `exportDump`. `replica` is null for the primary. */
export async function exportFrom(
  primary: ConnectionOptions,
  replicas: readonly ConnectionOptions[],
  output: Writable,
  log: Log,
): Promise<{ rows: number; replica: string | null }> {
  const { connection, replica, passed_over } = await exportSource(primary, replicas);
  for (const each of passed_over) log.warn(each, "a replica is not read for this dump");
  try {
    return { ...(await exportDump(connection, output)), replica };
  } catch (error) {
    if (replica === null || (sqlState(error) === null && !isConnectionLost(error))) throw error;
    const advice = "set hot_standby_feedback = on there, or read the primary (--primary)";
    throw new StartRefused(`the replica ${replica} ended the dump (${reasonOf(error)})`, advice);
  }
}

async function problemOf(
  connection: ConnectionOptions,
  main: Session,
  lsn: string,
  wait_ms: number,
): Promise<string | null> {
  const replica = await openClient(connection, "countersign export");
  try {
    if (!(await replica.query("select pg_is_in_recovery() as standby")).rows[0].standby) return "it is not a standby";
    if (!(await hasReplayed(replica, lsn, wait_ms))) return `it is more than ${wait_ms / 1_000} s behind`;
    return (await isPart(replica, main)) ? null : "its data is not a part of the primary's";
  } finally {
    await replica.end();
  }
}

async function hasReplayed(replica: Session, lsn: string, wait_ms: number): Promise<boolean> {
  const patience = AbortSignal.timeout(wait_ms);
  for (;;) {
    const { rows } = await replica.query("select pg_last_wal_replay_lsn() >= $1::pg_lsn as replayed", [lsn]);
    if (rows[0].replayed || patience.aborted) return rows[0].replayed === true;
    await pause(poll_ms);
  }
}

interface ChainEnd {
  readonly org_id: string;
  readonly audit_seq: number;
  readonly audit_root: string;
}

/** Returns true if the primary has every chain end of the replica. */
async function isPart(replica: Session, main: Session): Promise<boolean> {
  await replica.query(replica.begin({ "app.org": "*" }, snapshot));
  for (let after = ""; ; ) {
    const ends = await readChainEnds(replica, after);
    const last = ends.at(-1);
    if (last === undefined) return true;
    if ((await readForeign(main, ends)).length > 0) {
      await pause(visible_ms);
      if ((await readForeign(main, ends)).length > 0) return false;
    }
    after = last.org_id;
  }
}

async function readChainEnds(replica: Session, after: string): Promise<ChainEnd[]> {
  const { rows } = await replica.query<ChainEnd>(
    `select org_id, audit_seq, encode(audit_root, 'hex') as audit_root from org_heads
     where org_id > $1 order by org_id limit ${ends_per_page}`,
    [after],
  );
  return rows;
}

async function readForeign(main: Session, ends: readonly ChainEnd[]): Promise<string[]> {
  await main.query(main.begin({ "app.org": "*" }));
  const { rows } = await main.query<{ org_id: string }>(
    `select e.org_id from unnest($1::text[], $2::bigint[], $3::text[]) as e(org_id, seq, root)
     where e.seq > 0 and not exists (
       select from ledger l where l.org_id = e.org_id and l.seq = e.seq and l.root = decode(e.root, 'hex'))`,
    [ends.map((end) => end.org_id), ends.map((end) => end.audit_seq), ends.map((end) => end.audit_root)],
  );
  await main.query("commit");
  return rows.map((row) => row.org_id);
}
