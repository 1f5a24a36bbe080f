import { setImmediate as nextTurn } from "node:timers/promises";

/** What standard output failed of first, null while it takes everything: the stream itself does not keep it. */
let first: NodeJS.ErrnoException | null = null;

/**
 * Hears of what standard output does not take, until the process ends. Unheard, console.log loses it in silence, and a
 * service dies of an exception because the disk of its log is full. The answer resolves to the first failure, or null.
 */
export function watchStandardOutput(): () => Promise<NodeJS.ErrnoException | null> {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (first !== null) return;
    first = error;
    // Who reads no further has seen enough.
    if (error.code !== "EPIPE") console.error(`countersign: standard output: ${error.message}`);
  });
  return async () => {
    await nextTurn();
    return first;
  };
}

/** Whether a command ended of this because standard output took no more. */
export function isOutputFailure(error: unknown): boolean {
  return first !== null && error === first;
}

/** Whether standard output took the text: not where its disk is full, or nobody reads it any more. */
export function written(text: string): Promise<boolean> {
  return new Promise((resolve) => {
    process.stdout.write(text, (error) => resolve(!error));
  });
}
