/** The only reader of the browser's clock, which may be wrong. All times follow the service's clock. */
import { useSyncExternalStore } from "react";

const step_ms = 5_000;
/** The service may be this far ahead of `nowMs`: smaller differences are ignored, and its dates have whole seconds. */
const unsure_ms = step_ms + 1_000;
const listeners = new Set<() => void>();
let ahead_ms = 0;
let shown_ms = nowMs();
let timer: ReturnType<typeof setInterval> | undefined;

/** Milliseconds since 1970 by the service's clock. */
export function nowMs(): number {
  return Date.now() + ahead_ms;
}

/**
 * Returns the start of the last `span_ms`, a few seconds later because the API limits the length. Queries have no end,
 * so that they include the last seconds.
 */
export function beginOf(span_ms: number): string {
  return new Date(nowMs() - span_ms + unsure_ms).toISOString();
}

/** Learns the service's time from an HTTP date. Ignores small differences, which are network delay. */
export function learnTime(date: string | null): void {
  const off_ms = date === null ? Number.NaN : Date.parse(date) - nowMs();
  if (!(Math.abs(off_ms) > step_ms)) return;
  ahead_ms += off_ms;
  move();
}

function move(): void {
  shown_ms = nowMs();
  for (const each of listeners) each();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(move, step_ms);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Without listeners the displayed time stops, and the next listener updates it. */
function snapshot(): number {
  const now_ms = nowMs();
  if (timer === undefined && now_ms - shown_ms >= step_ms) shown_ms = now_ms;
  return shown_ms;
}

/** Returns the displayed time, which changes every five seconds for all components at once. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, snapshot);
}
