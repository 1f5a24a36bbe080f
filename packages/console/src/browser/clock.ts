/** The only place that reads the browser's clock. */
import { useSyncExternalStore } from "react";

/** Milliseconds since 1970. */
export function nowMs(): number {
  return Date.now();
}

const step_ms = 5_000;
const listeners = new Set<() => void>();
let shown_ms = nowMs();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    shown_ms = nowMs();
    for (const each of listeners) each();
  }, step_ms);
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
