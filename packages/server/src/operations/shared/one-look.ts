import type { Timers } from "../../ports.ts";

/**
 * A look at the database for whoever asks, one at a time: who asks meanwhile has the one that is under way, so that asking again and
 * again takes no more than one session. Null: it was not done within `wait_ms`; with `past_late` the next who asks begins
 * another, for which a session that fell silent is no reason. Rejects as `look` does.
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
