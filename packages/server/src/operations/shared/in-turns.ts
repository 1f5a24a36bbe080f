import { setImmediate } from "node:timers/promises";

/** Takes one step at a time, so that long work keeps nobody waiting for longer than one of its steps takes. */
export async function inTurns<R>(steps: Generator<void, R>): Promise<R> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await setImmediate();
  }
}
