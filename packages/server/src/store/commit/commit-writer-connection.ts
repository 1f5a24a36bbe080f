/**
 * The connection of the commit writer. Its two sessions run `commit_decisions` and flush the log.
 *
 * The first session runs the calls with `synchronous_commit = off`. Each call releases its locks on head rows without
 * waiting for the disk. The second session is the barrier: when its commit returns, all earlier commits are on disk and
 * on synchronous standbys. One flush serves all calls that ended while the previous flush ran.
 *
 * When calls come one at a time, or are small on a quick disk, the first session flushes with its own commit. That
 * saves a round trip: 2.2 ms instead of 2.5 ms (median).
 *
 * A barrier must not confirm commits that a server crash lost. So both sessions open before the first call, on the same
 * server. A crash ends both, and the writer repeats the batch. During a failover, two sessions could reach two servers.
 *
 * Behind a connection pooler, one session flushes with each commit. A pooler keeps its client's session when the server
 * crashes, so a barrier would prove nothing.
 */
import { type ConnectionOptions, sessionConfig, sqlState } from "../database/connection.ts";
import { Session } from "../database/session.ts";
import type { Settings } from "../database/settings.ts";
import { commitSettings, commitStatement, type RefusedDecision } from "./commit-call.ts";
import { type CommitCall, parametersOf, type RecordTypes, record_types_query } from "./commit-records.ts";
import { type FlushSpeed, flushStatement, openFlushSpeed } from "./flush-speed.ts";

/** A connection that commits. Calls may be sent before earlier ones are answered, and run in the order sent. */
export interface CommitConnection {
  /**
   * Resolves when the results of all calls are on disk, with refusals or an error for each. A failed call stored
   * nothing, unless its session was lost. Rejects if the outcome of all is unknown.
   */
  commit(calls: readonly CommitCall[]): Promise<readonly PromiseSettledResult<readonly RefusedDecision[]>[]>;
  /** Ends the sessions after all sent calls are answered. */
  close(): void;
}

/** Rejects if the database cannot be reached. */
export type ConnectCommit = () => Promise<CommitConnection>;

/** Timeout of a call. The outcome then counts as unknown. */
const statement_ms_max = 10_000;

/** If a flush is quicker than this, small calls are faster without the barrier (decision 0012). */
const quick_flush_ms_default = 1;
/** Calls are small below this average of rows. With larger calls, the wait of the next call costs more. */
const small_rows_max = 32;

const about_session =
  "select current_setting('synchronous_commit') as durable, pg_postmaster_start_time()::text as server";

export interface ConnectCommitOptions {
  /** The simulation passes a broken function, to check that it detects the error. */
  readonly function_name?: string;
  /** 0: every disk is slow. Infinity: every disk is quick. */
  readonly quick_flush_ms?: number;
}

export function connectCommit(
  connection: ConnectionOptions,
  { function_name, quick_flush_ms = quick_flush_ms_default }: ConnectCommitOptions = {},
): ConnectCommit {
  const statement = commitStatement(function_name);
  async function openSession(settings: Settings): Promise<Session> {
    const client = new Session({
      ...sessionConfig(connection, "countersign commit writer"),
      connectionTimeoutMillis: 5_000,
      query_timeout: statement_ms_max,
      pipeline: true,
    });
    try {
      await client.connect();
      if (!client.pooled) await client.keep({ ...settings, ...client.role_settings });
      return client;
    } catch (error) {
      endSession(client);
      throw error;
    }
  }

  return async () => {
    const sessions = [openSession(commitSettings), openSession({})] as const;
    // Ends both sessions, even if only one opened. Otherwise each retry on a full server would leak a session.
    const close = (): void => {
      for (const session of sessions) void session.then(endSession, () => undefined);
    };
    try {
      const [runner, flusher] = await Promise.all(sessions);
      if (runner.pooled) endSession(flusher);
      const barrier = runner.pooled ? null : await openBarrier(runner, flusher, quick_flush_ms);
      const begin = runner.begin({ ...commitSettings, ...runner.role_settings });
      const types = await readTypes(runner);
      async function call(each: CommitCall): Promise<readonly RefusedDecision[]> {
        const query = { ...statement, values: [...parametersOf(each, types)] };
        if (runner.pooled) return runner.runAlone<RefusedDecision>(begin, query);
        return (await runner.query<RefusedDecision>(query)).rows;
      }
      let under_way = 0;
      return {
        async commit(calls) {
          under_way += 1;
          try {
            const own = barrier?.choose(calls, under_way === 1);
            const running = calls.map(call);
            const [settled, flushed = true] = await Promise.all([Promise.allSettled(running), own]);
            // A refusal depends on commits of other callers, which may not be on disk yet.
            const refused = settled.some((result) => result.status === "fulfilled" && result.value.length > 0);
            if (!flushed || refused) await barrier?.pass();
            return settled;
          } finally {
            under_way -= 1;
          }
        },
        close,
      };
    } catch (error) {
      close();
      throw error;
    }
  };
}

async function readTypes(session: Session): Promise<RecordTypes> {
  return (await session.query<RecordTypes>(record_types_query)).rows[0] as RecordTypes;
}

interface Barrier {
  /**
   * Must be called before each batch. `alone`: no other batch is in flight. Resolves with true if the calls' own
   * commits flush the log.
   */
  choose(calls: readonly CommitCall[], alone: boolean): Promise<boolean>;
  /** Resolves when all earlier commits are on disk. */
  pass(): Promise<void>;
}

/** Opens the barrier. Returns null if the server has no function for it; then every commit flushes the log. */
async function openBarrier(runner: Session, flusher: Session, quick_flush_ms: number): Promise<Barrier | null> {
  let speed: FlushSpeed;
  try {
    speed = await openFlushSpeed(flusher);
  } catch (error) {
    if (sqlState(error) === null) throw error;
    return null;
  }
  const [own, others] = await Promise.all([runner.query(about_session), flusher.query(about_session)]);
  if (own.rows[0].server !== others.rows[0].server)
    throw new Error("the sessions of the commit writer are on two servers: a failover is under way");
  // The database's own setting may be stronger than `on`.
  const flushing = `set synchronous_commit = ${own.rows[0].durable}`;
  await runner.query("set synchronous_commit = off");
  let flushes = false;
  let was_alone = false;
  let rows_lately = 0;
  let refused: unknown = null;
  return {
    async choose(calls, alone) {
      if (refused !== null) throw refused;
      speed.count();
      rows_lately += (calls.reduce((sum, { rows }) => sum + rows.length, 0) - rows_lately) / 8;
      const small = rows_lately < small_rows_max && speed.flush_ms() < quick_flush_ms;
      // Flushes only from the second batch that is alone, so that the mode does not change all the time with few
      // clients. Several calls would each wait for the disk.
      const wanted = calls.length === 1 && (small || (alone && (flushes || was_alone)));
      was_alone = alone;
      if (wanted !== flushes) {
        flushes = wanted;
        try {
          await runner.query(wanted ? flushing : "set synchronous_commit = off");
        } catch (error) {
          refused = error;
          throw error;
        }
      }
      return wanted;
    },
    pass: shareFlush(() => flusher.query(flushStatement)),
  };
}

function endSession(client: Session): void {
  void client.end().catch(() => undefined);
}

/**
 * Returns a function that resolves after a flush that began after the call. Calls during a flush share the next one.
 */
export function shareFlush(flush: () => Promise<unknown>): () => Promise<void> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<void> | null = null;
  async function flushAfter(previous: Promise<unknown>): Promise<void> {
    await previous;
    next = null;
    const flushing = flush();
    running = flushing.catch(() => undefined);
    try {
      await flushing;
    } catch (cause) {
      // Hides the SQLSTATE, because it must not count as a refusal. The outcome is unknown.
      throw new Error("the log could not be flushed", { cause });
    }
  }
  return () => {
    next ??= flushAfter(running);
    return next;
  };
}

/** The connection of all lanes. It opens at first use, and again after `drop`. */
export interface SharedConnection {
  open(): Promise<CommitConnection>;
  /** Closes a failed connection for all its users. */
  drop(failed: CommitConnection): void;
  close(): void;
}

export function shareConnection(connect: ConnectCommit): SharedConnection {
  let opening: Promise<CommitConnection> | null = null;
  let current: CommitConnection | null = null;
  async function opened(): Promise<CommitConnection> {
    try {
      current = await connect();
      return current;
    } catch (error) {
      opening = null;
      throw error;
    }
  }
  function drop(failed: CommitConnection | null): void {
    failed?.close();
    if (failed === current) opening = current = null;
  }
  return {
    open: () => (opening ??= opened()),
    drop,
    close: () => drop(current),
  };
}
