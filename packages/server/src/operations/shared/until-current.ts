import { Fault } from "@countersign/core";

/** Assumptions of an operation that changed before it had the lock: read again and start over. */
export class Outdated extends Error {}

/** Runs an operation again while what it assumed is outdated; `reload` comes before each repetition. Faults: unavailable, those of `work`. */
export async function untilCurrent<T>(
  work: () => Promise<T>,
  reload: () => Promise<void> = async () => {},
): Promise<T> {
  for (let attempt = 1; attempt <= 6; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Outdated)) throw error;
      await reload();
    }
  }
  throw new Fault("unavailable", { internal: "found outdated each time" });
}
