import { setTimeout as pause } from "node:timers/promises";
import type { Db, Log, Query } from "../../ports.ts";
import type { ConnectionOptions } from "./connection.ts";
import { openReplicas, rest_ms_default, snapshot } from "./replicas.ts";
import { runs_max, SessionPool, type SessionPoolTerms } from "./session-pool.ts";
import { createSessionShares } from "./session-shares.ts";
import type { Settings } from "./settings.ts";

/** Each session plans it once under its name (unique, at most 63 characters); behind a pooler, each time. */
export interface NamedStatement {
  readonly name: string;
  readonly text: string;
  /** Retried after a lost session. */
  readonly reads_only?: true;
}

export interface Database extends Db {
  /**
   * Runs one statement in the system scope, in one round trip. Only reads are retried. After `isConnectionLost` the
   * outcome of others is unknown.
   */
  named<Row extends object = Record<string, unknown>>(
    statement: NamedStatement,
    params: readonly unknown[],
  ): Promise<Row[]>;
  readonly query: Query;
  stats(): { total: number; idle: number; waiting: number };
  reads(): { readonly replica: number; readonly primary: number; readonly replicas_in_use: number };
  close(): Promise<void>;
}

/** Defaults are in brackets. */
export interface DbOptions {
  /** Maximum sessions: tenant transactions (10, one organization at most half), system work (6), queues (4). */
  readonly tenant_sessions_max?: number;
  readonly system_sessions_max?: number;
  readonly queue_sessions_max?: number;
  /** Statement timeout of the server (30,000). */
  readonly statement_timeout_ms?: number;
  /** Timeout for an answer (5,000 more than the server's). The kernel would resend for 15 minutes. */
  readonly answer_timeout_ms?: number;
  /** Timeout for a free session (5,000). */
  readonly acquire_timeout_ms?: number;
  /** Timeout for a restarting server (10,000). */
  readonly restart_wait_ms?: number;
  /** Standbys that serve `reading`. */
  readonly replicas?: readonly ConnectionOptions[];
  /** Time until a failed replica is checked again (5,000). */
  readonly replica_rest_ms?: number;
}

/** Limits on a replica. Longer reads are done on the primary. */
const replicaTimes = { statement_ms: 10_000, answer_ms: 12_000, acquire_ms: 2_000 };

/**
 * Makes the planner use indexes, because statistics of a queue are always wrong. A claim from 20,000 due deliveries
 * took 3.4 s instead of 50 ms.
 */
const queuePlanning: Settings = {
  enable_seqscan: "off",
  enable_sort: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  plan_cache_mode: "force_generic_plan",
};

/** JIT took as long as the overview (150 ms). A bitmap scan sorts all versions of a head. */
const planning: Settings = { jit: "off", enable_bitmapscan: "off" };

const goodbye_ms_max = 1_000;

/**
 * Opens the database without a session; the first query opens one.
 *
 * Everything runs in a transaction that sets its scope (`app.org`) and all settings for itself. So nothing leaks, and a
 * pooler may use any session. There are three pools:
 *
 * - tenant: for one organization, which gets at most half of the sessions
 * - system: for all organizations (`app.org = '*'`)
 * - queue: the same; plans a statement once, with indexes
 *
 * Transactions are retried after a conflict (40001, 40P01), and after a session that was lost before COMMIT was sent.
 * So `work` must have no effect outside the database.
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
      // A server that stops before it reads the goodbye logs that it cut the sessions.
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

function replicaTerms(sessions_max: number): SessionPoolTerms {
  const { statement_ms, answer_ms, acquire_ms } = replicaTimes;
  const times = { answer_timeout_ms: answer_ms, acquire_timeout_ms: acquire_ms, restart_wait_ms: 0 };
  return { sessions_max, settings: poolSettings(statement_ms), ...times };
}
