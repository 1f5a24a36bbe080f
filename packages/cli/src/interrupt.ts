import type { Terminal } from "./terminal.ts";

/** Signals within this time count as one: a supervisor signals the whole process group, and npm forwards its own. */
const same_wish_ms = 2_000;

/**
 * Calls `interrupted` on the first SIGINT, SIGTERM or SIGHUP (a closed terminal). A signal after two more seconds ends
 * the program at once with 1. The returned function restores the default behaviour.
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
