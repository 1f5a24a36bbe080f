import type { Timers } from "../../ports.ts";

/**
 * Returns a function that shares one running database read between concurrent callers. Null: not done within `wait_ms`;
 * with `past_late`, the next caller then starts a new read, because the session may hang.
 */
export function oneLook<T>(
  timers: Timers,
  { wait_ms, past_late = false }: { readonly wait_ms: number; readonly past_late?: boolean },
  look: () => Promise<T>,
): () => Promise<T | null> {
  let underway: Promise<T> | null = null;
  const over = (looking: Promise<T>): void => {
    if (underway === looking) underway = null;
  };
  return async () => {
    if (underway === null) {
      const begun: Promise<T> = look().finally(() => over(begun));
      underway = begun;
    }
    const looking = underway;
    let cancel = () => {};
    const late = new Promise<null>((resolve) => {
      cancel = timers.after(wait_ms, () => {
        if (past_late) over(looking);
        resolve(null);
      });
    });
    return Promise.race([looking, late]).finally(cancel);
  };
}
