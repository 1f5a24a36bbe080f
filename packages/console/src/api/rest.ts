/** Pauses requests after the rate limit is reached. */
import { limits } from "@countersign/contract";
import { ApiError } from "@countersign/sdk";

/** Returns the seconds that the service asks to wait, if it stored nothing; otherwise null. */
export function secondsToRest(error: unknown): number | null {
  if (!(error instanceof ApiError) || error.status !== 429) return null;
  // Only a proxy asks for more than one window. Timers ignore waits of more than 24 days.
  return Math.min(error.retry_after_seconds || 5, limits.rate_window_seconds);
}

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
