/**
 * The writer's own connection: it calls `commit_decisions` and makes what was stored durable, in two sessions.
 *
 * The first session commits with `synchronous_commit = off`: the locks on the head rows are free and the next statement
 * begins as soon as one has been executed, without waiting for the disk. The second session is the barrier: its commit
 * flushes the log, so everything that was committed before it began is on disk (and on synchronous standbys) when it
 * returns. One barrier answers all statements that ended while the last one was on its way.
 *
 * While statements come one at a time nobody is there to gain from that, and the way to the second session and back is the
 * longer one: then the first session flushes with its own commit (a lone decision's median 2.2 ms in place of 2.5; beside
 * a drain of webhooks, where every way is longer, 4.4 in place of 5.3). So it does with small statements on a quick disk:
 * a flush takes less time there than a message to the other session and back.
 *
 * A barrier proves nothing about a server that crashed and came back in between: what was not flushed is gone then. So both
 * sessions are opened before the first statement and live and die together: a server that crashes takes every session
 * with it, and whoever has no barrier from the sessions it began with runs its batch again. Nor does it say anything about
 * another server: during a failover one session can reach the old primary and the other one the new.
 *
 * Behind a connection pooler there is one session, and each commit flushes the log itself. A pooler keeps our session when the
 * server crashes, so a barrier would prove nothing.
 */
import { type ConnectionOptions, sessionConfig, sqlState } from "../database/connection.ts";
import { Session } from "../database/session.ts";
import type { Settings } from "../database/settings.ts";
import { commitSettings, commitStatement, type RefusedDecision } from "./commit-call.ts";
import { type CommitCall, parametersOf, type RecordTypes, record_types_query } from "./commit-records.ts";
import { type FlushSpeed, flushStatement, openFlushSpeed } from "./flush-speed.ts";

/** A connection that commits. Statements may be sent before earlier ones are answered; they run in the order sent. */
export interface CommitConnection {
  /**
   * Makes the calls of a batch. Resolves when what they stored is on disk, with what each of them did not store, or why it failed: a
   * failed call stored nothing, unless its session was lost. Rejects if the outcome of all is unknown.
   */
  commit(calls: readonly CommitCall[]): Promise<readonly PromiseSettledResult<readonly RefusedDecision[]>[]>;
  /** Ends the sessions once what was sent is answered. */
  close(): void;
}

/** Opens connections; rejects when the database cannot be reached. */
export type ConnectCommit = () => Promise<CommitConnection>;

/** A statement that takes longer has lost its server: the connection is given up and the outcome counts as unknown. */
const statement_ms_max = 10_000;

/** With a flush that takes less, small statements are answered sooner, and more of them, without the barrier (decision 0012). */
const quick_flush_ms_default = 1;
/** Statements are small while they have fewer rows on average: with larger ones the wait of the next one costs more. */
const small_rows_max = 32;

/** A server is told by its start: two copies have everything else in common. */
const about_session =
  "select current_setting('synchronous_commit') as durable, pg_postmaster_start_time()::text as server";

/** What tests do otherwise. */
export interface ConnectCommitOptions {
  /** The simulation puts a broken function in, to see that it is noticed. */
  readonly function_name?: string;
  /** 0: no disk is quick; Infinity: every disk is. */
  readonly quick_flush_ms?: number;
}

/** Connections through `pg`. */
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
    // Also the one that opened where the other could not be: kept, each try beside a full server took one more place for good.
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
            // What was not stored rests on commits of others, which may not be on disk.
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

/** What stands between an executed statement and its answer. */
interface Barrier {
  /**
   * To be called before the calls of each batch, which may be sent at once; `alone`: no other batch is under way. Resolves with
   * whether the calls' own commits flush the log.
   */
  choose(calls: readonly CommitCall[], alone: boolean): Promise<boolean>;
  /** Resolves once everything that was committed before the call is on disk. */
  pass(): Promise<void>;
}

/** Where the server has no statement for a barrier, every commit flushes the log itself: null, there is nothing to wait for. */
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
  // What the database's owner chose, which may be stronger than `on`.
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
      // Not for the first alone: under a load of a few clients that would be one change after another. Nor for several calls, each of
      // which would wait for the disk.
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

/** Resolves once a flush that began after the call has ended; calls that come during a flush share the next one. */
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
      // Not the refusal of a row set, whatever its SQLSTATE: nobody knows what became of the statements before it.
      throw new Error("the log could not be flushed", { cause });
    }
  }
  return () => {
    next ??= flushAfter(running);
    return next;
  };
}

/** One connection for all lanes, opened when first asked for and again after it was dropped. */
export interface SharedConnection {
  open(): Promise<CommitConnection>;
  /** Closes a connection that failed; whoever still waits for it fails too. */
  drop(failed: CommitConnection): void;
  close(): void;
}

/** Creates the shared connection; nothing is opened yet. */
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
