/** The database as the operations see it: scoped transactions over two pools, and prepared statements for the commit writer. */
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import type { Db, Log, Query } from "../../ports.ts";
import {
  CommitLost,
  type ConnectionOptions,
  isConflict,
  isConnectionLost,
  isOutOfService,
  isSessionUseless,
  isUnanswered,
  isUncommitted,
  NoSession,
  session_settings,
  sessionConfig,
} from "./connection.ts";
import { createSessionShares } from "./session-shares.ts";

/** A prepared statement: planned once a connection under its name (at most 63 characters, one text a name). */
export interface NamedStatement {
  readonly name: string;
  readonly text: string;
  /** It changes nothing, so it is run again where its session was lost: requests of all organizations may share it. */
  readonly reads_only?: true;
}

/** The port, and what only the store and the edge use. */
export interface Database extends Db {
  /**
   * Rows of one autocommitted statement in the system scope, one round trip. Unless it only reads it is never run again here:
   * after `isConnectionLost` its outcome is unknown to the caller.
   */
  named<Row extends object = Record<string, unknown>>(
    statement: NamedStatement,
    params: readonly unknown[],
  ): Promise<Row[]>;
  /** Like `named`, for statements that are not worth preparing. */
  readonly query: Query;
  /** Sessions open, idle, and callers waiting for one, over all pools. */
  stats(): { total: number; idle: number; waiting: number };
  /** Ends every session once its work is done. */
  close(): Promise<void>;
}

/** Sizes and times; every one has a default. */
export interface DbOptions {
  /** Most sessions for tenant transactions (10, one organization half of them), for system work (6) and for the statements of queues (4). */
  readonly tenant_sessions_max?: number;
  readonly system_sessions_max?: number;
  readonly queue_sessions_max?: number;
  /** A statement that runs longer is cancelled by the server (30,000). */
  readonly statement_timeout_ms?: number;
  /**
   * How long a statement waits for an answer (5,000 more than the server gives it): after that the network or the machine at
   * its other end is gone without a word. The kernel alone would send the question again for a quarter of an hour.
   */
  readonly answer_timeout_ms?: number;
  /** How long a caller waits for a free session (5,000). */
  readonly acquire_timeout_ms?: number;
  /** How long callers wait for a server that is just starting or restarting (10,000). */
  readonly restart_wait_ms?: number;
}

/** The role that a superuser's sessions step down to: superusers and owners with BYPASSRLS would see every row. */
export const app_role = "countersign_app";

/** Sent to every new session before its first statement. */
export const step_down = `do $$ begin
  if (select rolsuper or rolbypassrls from pg_roles where rolname = current_user) then set role ${app_role}; end if;
end $$`;

/**
 * A queue's statistics are always wrong: gathered while it was empty, or never. Left to them the planner sorted the whole
 * queue once for each receiver: 3.4 s to claim from 20,000 due deliveries of 200 receivers (50 ms along the index), and
 * 25 ms to settle 16 of 8,000 (0.6 ms). Planning itself took longer than a claim.
 */
const queue_session =
  "set enable_bitmapscan = off; set enable_seqscan = off; set enable_sort = off; set enable_hashjoin = off; " +
  "set enable_mergejoin = off; set plan_cache_mode = force_generic_plan";

/** Runs of one transaction before its conflict is given to the caller, and of a statement that only reads. */
const transaction_runs_max = 5;
const retry_pause_ms = 50;
/** How long a closing waits for the server's side of it. */
const goodbye_ms_max = 1_000;

/**
 * Opens the database. No session is made before the first query.
 *
 * Three pools, because scope and planning are settings of the session: sessions of the system pool are born with
 * `app.org = '*'` and so need no transaction around a single statement, those of the queue pool plan a statement once and
 * along the indexes; those of the tenant pool have no scope outside a transaction, so
 * that nothing can leak from one borrower to the next; one organization has at most half of them. Transactions that lost against others (40001, 40P01) or lost
 * their session before COMMIT was sent, other than by its silence, are run again: `work` must have no effect outside the database.
 */
export function openDb(connection: ConnectionOptions, log: Log, options: DbOptions = {}): Database {
  const { statement_timeout_ms = 30_000, acquire_timeout_ms = 5_000, restart_wait_ms = 10_000 } = options;
  const { tenant_sessions_max = 10 } = options;
  const timeouts = `set statement_timeout = ${statement_timeout_ms}; set idle_in_transaction_session_timeout = 60000`;
  // Compiling a statement first, as servers do where they think that it takes long, took as long as the overview itself (150 ms).
  // And all versions of a head that any transaction may see were gathered and sorted where the newest is the end of an index.
  const planning = "set jit = off; set enable_bitmapscan = off";

  /** One for each session that is open. */
  const ends = new Set<Promise<void>>();

  function openPool(scope: string, max: number): pg.Pool {
    const pool = new pg.Pool({
      ...sessionConfig(connection, "countersign"),
      max,
      query_timeout: options.answer_timeout_ms ?? statement_timeout_ms + 5_000,
      connectionTimeoutMillis: acquire_timeout_ms,
      idleTimeoutMillis: 30_000,
      onConnect: async (client: pg.ClientBase) => {
        // A borrowed session can die between two statements; unheard, that event would end the process. The next statement tells.
        client.on("error", () => undefined);
        const ended = new Promise<void>((resolve) => client.once("end", resolve));
        ends.add(ended);
        void ended.then(() => ends.delete(ended));
        const text = `${session_settings}; ${timeouts}; ${planning}; ${scope}; ${step_down}`;
        await client.query({ text, query_timeout: acquire_timeout_ms } as pg.QueryConfig);
      },
    } as pg.PoolConfig);
    // An idle session that dies (server restart, network) is dropped by the pool; unheard, the event would end the process.
    pool.on("error", (error) => log.warn({ err: error }, "idle database session lost"));
    return pool;
  }
  const tenants = openPool("set app.org = ''", tenant_sessions_max);
  const shares = createSessionShares(Math.ceil(tenant_sessions_max / 2), acquire_timeout_ms);
  const systems = openPool("set app.org = '*'", options.system_sessions_max ?? 6);
  const queues = openPool(`set app.org = '*'; ${queue_session}`, options.queue_sessions_max ?? 4);

  /** A session; waits while the server is starting. Nothing was sent yet, so asking again is always safe. */
  async function acquire(pool: pg.Pool): Promise<pg.PoolClient> {
    for (let patience: AbortSignal | null = null; ; ) {
      try {
        return await pool.connect();
      } catch (error) {
        // By time, not by tries: a machine that is gone can take seconds to be found unreachable each time.
        patience ??= AbortSignal.timeout(restart_wait_ms);
        if (!isConnectionLost(error) && !isOutOfService(error))
          throw new NoSession(`no session: ${(error as Error).message}`, { cause: error });
        if (!isConnectionLost(error) || isUnanswered(error) || patience.aborted) throw error;
        await pause(retry_pause_ms);
      }
    }
  }

  async function runOnce<T>(client: pg.PoolClient, begin: string, work: (query: Query) => Promise<T>): Promise<T> {
    let committing = false;
    try {
      await client.query(begin);
      const result = await work(queryOn(client));
      committing = true;
      await client.query("commit");
      client.release();
      return result;
    } catch (error) {
      const lost = isConnectionLost(error);
      const rolled_back =
        !lost &&
        (await client.query("rollback").then(
          () => true,
          () => false,
        ));
      client.release(!rolled_back || isSessionUseless(error));
      if (lost && committing && !isUncommitted(error))
        throw new CommitLost("the outcome of a commit is unknown", { cause: error });
      throw error;
    }
  }

  async function run<T>(pool: pg.Pool, begin: string, work: (query: Query) => Promise<T>): Promise<T> {
    for (let runs = 1; ; runs += 1) {
      // Whoever got no session has waited for it as long as anybody waits.
      const client = await acquire(pool);
      try {
        return await runOnce(client, begin, work);
      } catch (error) {
        const again = isConflict(error) || (isSessionLost(error) && !(error instanceof CommitLost));
        if (!again || runs >= transaction_runs_max) throw error;
        log.debug({ err: error, runs }, "transaction is run again");
        await pause(runs * 2);
      }
    }
  }

  async function single<Row extends object>(pool: pg.Pool, config: pg.QueryConfig, runs_max = 1): Promise<Row[]> {
    for (let runs = 1; ; runs += 1) {
      const client = await acquire(pool);
      try {
        const result = await client.query<Row>(config);
        client.release();
        return result.rows ?? [];
      } catch (error) {
        client.release(isSessionUseless(error));
        if (!isSessionLost(error) || runs >= runs_max) throw error;
        log.debug({ err: error, runs }, "statement is run again");
      }
    }
  }

  return {
    tenant(org_id, work) {
      // SET takes no parameters, and set_config() would cost a round trip of its own.
      if (!/^[A-Za-z0-9_]+$/.test(org_id)) return Promise.reject(new Error("not an organization id"));
      return shares.within(org_id, () => run(tenants, `begin; set local app.org = '${org_id}'`, work));
    },
    system: (work) => run(systems, "begin", work),
    queued: (statement, params) => single(queues, { ...statement, values: [...params] }),
    named: ({ name, text, reads_only }, params) =>
      single(systems, { name, text, values: [...params] }, reads_only ? transaction_runs_max : 1),
    query: (text, params = []) => single(systems, { text, values: [...params] }),
    stats: () => ({
      total: tenants.totalCount + systems.totalCount + queues.totalCount,
      idle: tenants.idleCount + systems.idleCount + queues.idleCount,
      waiting: shares.waiting() + tenants.waitingCount + systems.waitingCount + queues.waitingCount,
    }),
    async close() {
      await Promise.all([tenants.end(), systems.end(), queues.end()]);
      // The pools have only said goodbye; a server that is stopped before it heard that complains of sessions it has to cut.
      await Promise.race([Promise.all(ends), pause(goodbye_ms_max, undefined, { ref: false })]);
    },
  };
}

/** Whoever got no answer has waited for it as long as anybody waits; the session after it may be as silent. */
function isSessionLost(error: unknown): boolean {
  return isConnectionLost(error) && !isUnanswered(error);
}

function queryOn(client: pg.PoolClient): Query {
  return async <Row extends object>(text: string, params?: readonly unknown[]) => {
    const result = await client.query<Row & pg.QueryResultRow>(text, params as unknown[] | undefined);
    return (result.rows ?? []) as Row[];
  };
}
