import type { Db, Log, Timers } from "../../ports.ts";
import { countExpiringKeys } from "../../store/keys/key-expiry.ts";
import { readStreamFigures, type StreamFigures } from "../../store/streams/stream-turns.ts";
import { type Backlog, countBacklog } from "../../store/upkeep/backlog.ts";
import { oneLook } from "../shared/one-look.ts";

/** Short, because metrics are most needed when the database does not answer. */
const wait_ms = 1_000;

/** Counts the backlog, one count at a time. Null: the count failed or was late. */
export function createBacklogWatch(
  db: Pick<Db, "queued">,
  timers: Timers,
  log: Pick<Log, "warn">,
): () => Promise<Backlog | null> {
  return oneLook(timers, { wait_ms }, () =>
    countBacklog(db).catch((error: unknown) => {
      log.warn({ err: error }, "could not count the backlog");
      return null;
    }),
  );
}

export function createExpiryWatch(
  db: Pick<Db, "queued">,
  timers: Timers,
  log: Pick<Log, "warn">,
): () => Promise<Readonly<Record<string, number>> | null> {
  return oneLook(timers, { wait_ms }, () =>
    countExpiringKeys(db).catch((error: unknown) => {
      log.warn({ err: error }, "could not count the keys that expire soon");
      return null;
    }),
  );
}

export function createStreamWatch(
  db: Pick<Db, "queued">,
  timers: Timers,
  log: Pick<Log, "warn">,
): () => Promise<StreamFigures | null> {
  return oneLook(timers, { wait_ms }, () =>
    readStreamFigures(db).catch((error: unknown) => {
      log.warn({ err: error }, "could not read the lag of streams");
      return null;
    }),
  );
}
