/** Resting where the budget of requests is used up. */
import { limits } from "@countersign/contract";
import { ApiError } from "@countersign/sdk";

/** For how long the service wants to be left alone, where it says that nothing was stored; null: it says no such thing. */
export function secondsToRest(error: unknown): number | null {
  if (!(error instanceof ApiError) || error.status !== 429) return null;
  // Who says more than a window is a proxy, and timers take what is past 24 days for nothing.
  return Math.min(error.retry_after_seconds || 5, limits.rate_window_seconds);
}

/** A rest that whoever stops does not wait for. */
export function createRest() {
  let wake = (): void => undefined;
  return {
    take: (seconds: number) =>
      new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, seconds * 1000);
      }),
    end: () => wake(),
  };
}
