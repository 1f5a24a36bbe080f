/** The only place that reads the browser's clock, which may be wrong: the service's is what everything is timed by. */
import { useSyncExternalStore } from "react";

const step_ms = 5_000;
/** So far may the service be ahead of `nowMs`: differences of up to a step are not learned, and its dates are cut to seconds. */
const unsure_ms = step_ms + 1_000;
const listeners = new Set<() => void>();
/** How far the service's clock is ahead of the browser's. */
let ahead_ms = 0;
let shown_ms = nowMs();
let timer: ReturnType<typeof setInterval> | undefined;

/** Milliseconds since 1970, by the service's clock as far as it is known. */
export function nowMs(): number {
  return Date.now() + ahead_ms;
}

/**
 * Where a time of `span_ms` began that ends at the service's present: asked for without an end, so that what was decided in the
 * last seconds is in it. Some seconds less than that, because there are longest times that may be asked for.
 */
export function beginOf(span_ms: number): string {
  return new Date(nowMs() - span_ms + unsure_ms).toISOString();
}

/** Hears what the service has just said of its time (an HTTP date, to the second); small differences are the way's. */
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

/** The time that is shown; while nobody listens it stands still, so the first who looks again moves it. */
function snapshot(): number {
  const now_ms = nowMs();
  if (timer === undefined && now_ms - shown_ms >= step_ms) shown_ms = now_ms;
  return shown_ms;
}

/** The time as the page shows it: moves every five seconds, for all at once, and only while somebody looks. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, snapshot);
}
