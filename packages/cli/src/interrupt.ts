/**
 * Hears of the first Ctrl-C, of the first SIGTERM and of a terminal that is closed; what it returns ends that: then they end
 * the program again.
 */
export function onInterrupt(interrupted: () => void): () => void {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.once(signal, interrupted);
  return () => {
    for (const signal of signals) process.off(signal, interrupted);
  };
}
