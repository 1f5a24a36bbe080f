import type { Terminal } from "./terminal.ts";

/** One wish to end the program may arrive as several signals: a supervisor signals the whole process group, and npm forwards its own. */
const same_wish_ms = 2_000;

/**
 * Calls `interrupted` on the first SIGINT, SIGTERM or SIGHUP (a terminal that is closed). More signals within two seconds are the
 * same wish. A later one ends the program at once with 1. The returned function removes the listeners, so that a signal ends the
 * program by itself.
 */
export function onInterrupt(
  { signals, exit }: Pick<Terminal, "signals" | "exit">,
  interrupted: () => void,
): () => void {
  const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  let signalled = false;
  let impatient = false;
  const onSignal = (): void => {
    if (impatient) exit(1);
    if (signalled) return;
    signalled = true;
    setTimeout(() => {
      impatient = true;
    }, same_wish_ms).unref();
    interrupted();
  };
  for (const name of names) signals.on(name, onSignal);
  return () => {
    for (const name of names) signals.off(name, onSignal);
  };
}
