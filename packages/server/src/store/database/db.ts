/** The database as operations use it: scoped transactions on three pools, and single statements in the system scope. */
import { setTimeout as pause } from "node:timers/promises";
import type { Db, Log, Query } from "../../ports.ts";
import type { ConnectionOptions } from "./connection.ts";
import { openReplicas, rest_ms_default, snapshot } from "./replicas.ts";
import { runs_max, SessionPool, type SessionPoolTerms } from "./session-pool.ts";
import { createSessionShares } from "./session-shares.ts";
import type { Settings } from "./settings.ts";

/**
 * A prepared statement. Each session plans it once under its name (at most 63 characters, unique for a text). Behind a
 * pooler it is planned each time.
 */
export interface NamedStatement {
  readonly name: string;
  readonly text: string;
  /** The statement changes nothing, so it is retried after a lost session. */
  readonly reads_only?: true;
}

/** The port, and further methods for the store and the edge only. */
export interface Database extends Db {
  /**
   * Returns the rows of one statement in the system scope, committed by itself, in one round trip. Only a statement that reads is
   * retried: after `isConnectionLost` the outcome of any other is unknown.
   */
  named<Row extends object = Record<string, unknown>>(
    statement: NamedStatement,
    params: readonly unknown[],
  ): Promise<Row[]>;
  /** Like `named`, for statements that are not worth preparing. */
  readonly query: Query;
  /** Sessions open, idle, and callers waiting for one, over all pools. */
  stats(): { total: number; idle: number; waiting: number };
  /** Counts the reads that may use a replica, by the server that did them, and the replicas that serve now. */
  reads(): { readonly replica: number; readonly primary: number; readonly replicas_in_use: number };
  /** Ends every session when its work is done. */
  close(): Promise<void>;
}

/** Sizes and times. Each has a default. */
export interface DbOptions {
  /**
   * Maximum sessions for tenant transactions (10, one organization at most half of them), for system work (6) and for
   * the statements of queues (4).
   */
  readonly tenant_sessions_max?: number;
  readonly system_sessions_max?: number;
  readonly queue_sessions_max?: number;
  /** The server cancels a statement that runs longer (30,000). */
  readonly statement_timeout_ms?: number;
  /**
   * How long a statement waits for an answer (5,000 more than the server's own limit). After this time the network or
   * the machine is considered lost. The kernel alone would keep resending for 15 minutes.
   */
  readonly answer_timeout_ms?: number;
  /** How long a caller waits for a free session (5,000). */
  readonly acquire_timeout_ms?: number;
  /** How long callers wait for a server that is just starting or restarting (10,000). */
  readonly restart_wait_ms?: number;
  /** Standbys of this database, which serve `reading`. */
  readonly replicas?: readonly ConnectionOptions[];
  /** After this time a failed replica is checked again (5,000). */
  readonly replica_rest_ms?: number;
}

/** Limits on a replica. A statement that runs longer, or waits longer for a session, is done on the primary. */
const replicaTimes = { statement_ms: 10_000, answer_ms: 12_000, acquire_ms: 2_000 };

/**
 * Makes the planner use indexes, because a queue's statistics are always wrong: gathered while it was empty, or never.
 * With statistics, the planner sorted the whole queue once per receiver. A claim from 20,000 due deliveries of 200
 * receivers took 3.4 s (50 ms with the index). Settling 16 of 8,000 took 25 ms (0.6 ms). Planning alone took longer
 * than a claim.
 */
const queuePlanning: Settings = {
  enable_seqscan: "off",
  enable_sort: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  plan_cache_mode: "force_generic_plan",
};

/**
 * Settings of the planner. JIT compilation took as long as the overview itself (150 ms). A bitmap scan gathered and
 * sorted all visible versions of a head, but the newest is the last entry of an index.
 */
const planning: Settings = { jit: "off", enable_bitmapscan: "off" };

/** How long `close` waits for the server to close the sessions. */
const goodbye_ms_max = 1_000;

/**
 * Opens the database. No session is made before the first query.
 *
 * Everything runs in a transaction that sets its scope (`app.org`) and all other settings for itself alone. So nothing leaks to
 * the next one, and a pooler may give it any session. There are three pools:
 *
 *   tenant   for one organization, which gets at most half of the sessions
 *   system   for all organizations (`app.org = '*'`)
 *   queue    the same; plans a statement once, along the indexes
 *
 * Transactions are retried after a conflict (40001, 40P01) and after a session that was lost before COMMIT was sent. So `work`
 * must have no effect outside the database.
 */
export function openDb(connection: ConnectionOptions, log: Log, options: DbOptions = {}): Database {
  const { statement_timeout_ms = 30_000, acquire_timeout_ms = 5_000, restart_wait_ms = 10_000 } = options;
  const { tenant_sessions_max = 10, system_sessions_max = 6, queue_sessions_max = 4 } = options;
  const { answer_timeout_ms = statement_timeout_ms + 5_000 } = options;
  const openPool = (sessions_max: number, more: Settings = {}): SessionPool => {
    const settings = poolSettings(statement_timeout_ms, more);
    return new SessionPool(connection, log, {
      ...{ sessions_max, settings, answer_timeout_ms, acquire_timeout_ms, restart_wait_ms },
    });
  };
  const tenants = openPool(tenant_sessions_max);
  const systems = openPool(system_sessions_max);
  const queues = openPool(queue_sessions_max, queuePlanning);
  const pools = [tenants, systems, queues];
  const shares = createSessionShares(Math.ceil(tenant_sessions_max / 2), acquire_timeout_ms);
  const { replicas: standbys = [], replica_rest_ms = rest_ms_default } = options;
  const replicas = openReplicas(standbys, tenants, log, replicaTerms(tenant_sessions_max), replica_rest_ms);
  const reads = { replica: 0, primary: 0 };
  const sum = (of: "total" | "idle" | "waiting") => pools.reduce((count, pool) => count + pool.counts()[of], 0);

  async function tenant<T>(org_id: string, work: (query: Query) => Promise<T>): Promise<T> {
    checkId(org_id);
    return shares.within(org_id, () => tenants.transaction(org_id, work));
  }

  return {
    tenant,
    async reading(org_id, wanted, work) {
      checkId(org_id);
      const served = await replicas.read(org_id, wanted, work);
      reads[served === null ? "primary" : "replica"] += 1;
      if (served !== null) return served.value;
      return shares.within(org_id, () => tenants.transaction(org_id, work, { mode: snapshot }));
    },
    system: (work) => systems.transaction("*", work),
    queued: (statement, params) => queues.statement("*", { ...statement, values: [...params] }),
    named: ({ name, text, reads_only }, params) =>
      systems.statement("*", { name, text, values: [...params] }, reads_only ? runs_max : 1),
    query: (text, params = []) => systems.statement("*", { text, values: [...params] }),
    stats: () => ({ total: sum("total"), idle: sum("idle"), waiting: shares.waiting() + sum("waiting") }),
    reads: () => ({ ...reads, replicas_in_use: replicas.inUse() }),
    async close() {
      const opened = [...pools, replicas];
      await Promise.all(opened.map((each) => each.end()));
      // `end` only sends a goodbye. If the server is stopped before it reads this, it logs that it had to cut the
      // sessions.
      const ended = Promise.all(opened.map((each) => each.ended()));
      await Promise.race([ended, pause(goodbye_ms_max, undefined, { ref: false })]);
    },
  };
}

function checkId(org_id: string): void {
  if (!/^[A-Za-z0-9_]+$/.test(org_id)) throw new Error("not an organization id");
}

function poolSettings(statement_timeout_ms: number, more: Settings = {}): Settings {
  const timeouts = { statement_timeout: String(statement_timeout_ms), idle_in_transaction_session_timeout: "60000" };
  return { ...timeouts, ...planning, ...more };
}

/** A caller does not wait for a replica that restarts. */
function replicaTerms(sessions_max: number): SessionPoolTerms {
  const { statement_ms, answer_ms, acquire_ms } = replicaTimes;
  const times = { answer_timeout_ms: answer_ms, acquire_timeout_ms: acquire_ms, restart_wait_ms: 0 };
  return { sessions_max, settings: poolSettings(statement_ms), ...times };
}
