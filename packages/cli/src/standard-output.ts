import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * Hears of what standard output does not take, until the process ends. Unheard, console.log loses it in silence, and a
 * service dies of an exception because the disk of its log is full. The answer resolves to the first failure, or null.
 */
export function watchStandardOutput(): () => Promise<NodeJS.ErrnoException | null> {
  let first: NodeJS.ErrnoException | null = null;
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

/** Whether standard output took the text: not where its disk is full, or nobody reads it any more. */
export function written(text: string): Promise<boolean> {
  return new Promise((resolve) => {
    process.stdout.write(text, (error) => resolve(!error));
  });
}
