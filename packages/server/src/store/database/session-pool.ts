/**
 * A pool of sessions and its retries. Work without an answer in time is not retried, because the next session may be as
 * silent.
 *
 * - acquire: waits for a free session and for a restarting server; always safe, because nothing was sent
 * - transaction: retried after a conflict, or after a lost session unless COMMIT may have arrived
 * - statement: retried after a lost session only if the caller allows it
 */
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import type { Log, Query } from "../../ports.ts";
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
  sessionConfig,
} from "./connection.ts";
import { Session } from "./session.ts";
import { type Settings, setAll } from "./settings.ts";

export interface SessionPoolTerms {
  readonly sessions_max: number;
  readonly settings: Settings;
  readonly answer_timeout_ms: number;
  readonly acquire_timeout_ms: number;
  readonly restart_wait_ms: number;
}

type PooledSession = Session & pg.PoolClient;

/** Attempts before the caller gets the error. */
export const runs_max = 5;
const retry_pause_ms = 50;

export class SessionPool {
  readonly #pool: pg.Pool;
  readonly #log: Log;
  readonly #settings: Settings;
  readonly #restart_wait_ms: number;
  /** One promise for each open session; resolves at its end. */
  readonly #ends = new Set<Promise<void>>();

  constructor(connection: ConnectionOptions, log: Log, terms: SessionPoolTerms) {
    const { acquire_timeout_ms, answer_timeout_ms, sessions_max } = terms;
    this.#log = log;
    this.#settings = terms.settings;
    this.#restart_wait_ms = terms.restart_wait_ms;
    this.#pool = new pg.Pool({
      ...sessionConfig(connection, "countersign"),
      Client: Session,
      max: sessions_max,
      query_timeout: answer_timeout_ms,
      connectionTimeoutMillis: acquire_timeout_ms,
      idleTimeoutMillis: 30_000,
      pipeline: true,
      onConnect: (client: pg.ClientBase) => {
        this.#watch(client);
        return stepDown(client as Session);
      },
    } as pg.PoolConfig);
    // Without a listener, a lost idle session would end the process.
    this.#pool.on("error", (error) => log.warn({ err: error }, "idle database session lost"));
  }

  /**
   * `scope`: an organization, or `*` for all. `work` may run several times, so it must have no effect outside the
   * database.
   */
  async transaction<T>(
    scope: string,
    work: (query: Query) => Promise<T>,
    { mode, runs: tries = runs_max }: { readonly mode?: string; readonly runs?: number } = {},
  ): Promise<T> {
    for (let runs = 1; ; runs += 1) {
      // Outside the try, because a caller without a session has already waited.
      const client = await this.#acquire();
      try {
        return await runOnce(client, this.#begin(client, scope, mode), work);
      } catch (error) {
        const retry = isConflict(error) || (isSessionLost(error) && !(error instanceof CommitLost));
        if (!retry || runs >= tries) throw error;
        this.#log.debug({ err: error, runs }, "transaction is retried");
        await pause(runs * 2);
      }
    }
  }

  async statement<Row extends object>(scope: string, config: pg.QueryConfig, tries = 1): Promise<Row[]> {
    for (let runs = 1; ; runs += 1) {
      const client = await this.#acquire();
      try {
        const rows = await client.runAlone<Row>(this.#begin(client, scope), config);
        client.release();
        return rows;
      } catch (error) {
        client.release(isSessionUseless(error));
        if (!isSessionLost(error) || runs >= tries) throw error;
        this.#log.debug({ err: error, runs }, "statement is retried");
      }
    }
  }

  counts(): { readonly total: number; readonly idle: number; readonly waiting: number } {
    const { totalCount: total, idleCount: idle, waitingCount: waiting } = this.#pool;
    return { total, idle, waiting };
  }

  /** Sends a goodbye on every session when its work is done. */
  end(): Promise<void> {
    return this.#pool.end();
  }

  /** Resolves when the server has closed all sessions. */
  async ended(): Promise<void> {
    await Promise.all(this.#ends);
  }

  #watch(client: pg.ClientBase): void {
    const ended = new Promise<void>((resolve) => client.once("end", resolve));
    this.#ends.add(ended);
    void ended.then(() => this.#ends.delete(ended));
  }

  #begin(client: Session, scope: string, mode?: string): string {
    return client.begin({ ...this.#settings, ...client.role_settings, "app.org": scope }, mode);
  }

  async #acquire(): Promise<PooledSession> {
    for (let patience: AbortSignal | null = null; ; ) {
      try {
        return (await this.#pool.connect()) as PooledSession;
      } catch (error) {
        // Limited by time, because one try may take seconds.
        patience ??= AbortSignal.timeout(this.#restart_wait_ms);
        if (!isConnectionLost(error) && !isOutOfService(error))
          throw new NoSession(`no session: ${(error as Error).message}`, { cause: error });
        if (!isConnectionLost(error) || isUnanswered(error) || patience.aborted) throw error;
        await pause(retry_pause_ms);
      }
    }
  }
}

/** Without the role, statements outside of transactions would run as superuser and see all organizations. */
async function stepDown(client: Session): Promise<void> {
  if (!client.pooled && Object.keys(client.role_settings).length > 0)
    await client.query(setAll(client.role_settings, "session"));
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

function isSessionLost(error: unknown): boolean {
  return isConnectionLost(error) && !isUnanswered(error);
}

function queryOn(client: pg.PoolClient): Query {
  return async <Row extends object>(text: string, params?: readonly unknown[]) => {
    const result = await client.query<Row & pg.QueryResultRow>(text, params as unknown[] | undefined);
    return (result.rows ?? []) as Row[];
  };
}
