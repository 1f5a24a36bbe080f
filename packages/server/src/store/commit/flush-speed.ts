/** Measures the flush time by the server's clock, without the delays of this process. */
import type pg from "pg";

/** Writes a few unused bytes, because a transaction without writes would not flush. */
export const flushStatement = {
  name: "flush-log",
  text: `select extract(epoch from clock_timestamp())::float8 * 1000 as at_ms,
    pg_logical_emit_message(true, 'countersign', '')`,
} as const;
const nowStatement = {
  name: "time-after-flush",
  text: "select extract(epoch from clock_timestamp())::float8 * 1000 as at_ms",
} as const;

/** Measurements that count. A single one may be wrong (busy disk, clock set). */
const looks_kept = 5;
const statements_per_look = 1_000;

export interface FlushSpeed {
  /** Median of the last measurements. */
  flush_ms(): number;
  /** Call with each statement; measures again now and then. */
  count(): void;
}

/** Measures the flushes of a session. Rejects if its server has no function that writes to the log. */
export async function openFlushSpeed(session: pg.Client): Promise<FlushSpeed> {
  const looks: number[] = [];
  let middle_ms = 0;
  let statements = 0;

  async function look(): Promise<void> {
    // The second statement runs after the commit of the first.
    const [before, after] = await Promise.all([session.query(flushStatement), session.query(nowStatement)]);
    looks.push(after.rows[0].at_ms - before.rows[0].at_ms);
    if (looks.length > looks_kept) looks.shift();
    middle_ms = looks.toSorted((a, b) => a - b)[looks.length >> 1] as number;
  }

  for (let n = 0; n < looks_kept; n++) await look();
  return {
    flush_ms: () => middle_ms,
    count() {
      statements = (statements + 1) % statements_per_look;
      // The next user of a lost session reports the error.
      if (statements === 0) look().catch(() => undefined);
    },
  };
}
