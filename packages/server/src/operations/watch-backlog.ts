import type { Db, Log, Timers } from "../ports.ts";
import { type Backlog, countBacklog } from "../store/backlog.ts";

/** Metrics are looked at most of all when the database does not answer: they do not wait for it longer than this. */
const wait_ms = 1_000;

/**
 * Counts the backlog, one count at a time. Null: it could not be counted, or not in time; whoever asks meanwhile waits for the
 * count that is under way, so that asking again and again takes no more than one session.
 */
export function createBacklogWatch(
  db: Pick<Db, "queued">,
  timers: Timers,
  log: Pick<Log, "warn">,
): () => Promise<Backlog | null> {
  let counting: Promise<Backlog | null> | null = null;
  return async () => {
    counting ??= countBacklog(db)
      .catch((error: unknown) => {
        log.warn({ err: error }, "what waits to leave the service could not be counted");
        return null;
      })
      .finally(() => {
        counting = null;
      });
    let cancel = () => {};
    const late = new Promise<null>((resolve) => {
      cancel = timers.after(wait_ms, () => resolve(null));
    });
    return Promise.race([counting, late]).finally(cancel);
  };
}
