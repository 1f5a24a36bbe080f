import type { Terminal } from "./terminal.ts";

/**
 * Calls `interrupted` on the first SIGINT, the first SIGTERM and the first SIGHUP (a terminal that is closed). The function that
 * it returns removes these listeners; after that, a signal ends the program.
 */
export function onInterrupt({ signals }: Pick<Terminal, "signals">, interrupted: () => void): () => void {
  const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const name of names) signals.once(name, interrupted);
  return () => {
    for (const name of names) signals.off(name, interrupted);
  };
}
