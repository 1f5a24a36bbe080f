/** The only place that reads the browser's clock. */
import { useSyncExternalStore } from "react";

/** Milliseconds since 1970. */
export function nowMs(): number {
  return Date.now();
}

const listeners = new Set<() => void>();
let shown_ms = nowMs();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    shown_ms = nowMs();
    for (const each of listeners) each();
  }, 5_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The time as the page shows it: moves every five seconds, for all at once, and only while somebody looks. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => shown_ms);
}
