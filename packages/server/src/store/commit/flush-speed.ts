/**
 * How long the server takes to bring its log to the disk, by its own clock: seen from here a flush also waits for the event
 * loop and for a processor, which take longer than a good disk.
 */
import type pg from "pg";

/** Flushes the log. The commit of a transaction that wrote nothing would not, so it writes a few bytes that nobody reads. */
export const flushStatement = {
  name: "flush-log",
  text: `select extract(epoch from clock_timestamp())::float8 * 1000 as at_ms,
    pg_logical_emit_message(true, 'countersign', '')`,
} as const;
const nowStatement = {
  name: "time-after-flush",
  text: "select extract(epoch from clock_timestamp())::float8 * 1000 as at_ms",
} as const;

/** Looks that count: of one alone the disk may have been busy, or the clock set. */
const looks_kept = 5;
/** Statements between two looks: disks have good days and bad ones. */
const statements_per_look = 1_000;

/** How quick the disk was lately. */
export interface FlushSpeed {
  /** The middle one of the last looks, in milliseconds. */
  flush_ms(): number;
  /** To be called with each statement; looks again now and then. */
  count(): void;
}

/** Looks how quick the flushes are that a session commits with. Rejects where its server has no function to write to the log with. */
export async function openFlushSpeed(session: pg.Client): Promise<FlushSpeed> {
  const looks: number[] = [];
  let middle_ms = 0;
  let statements = 0;

  async function look(): Promise<void> {
    // The second one runs when the commit of the first is over.
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
      // A session that is lost fails whoever needs it next.
      if (statements === 0) look().catch(() => undefined);
    },
  };
}
