/** Hears of the first Ctrl-C and of the first SIGTERM; what it returns ends that: then they end the program again. */
export function onInterrupt(interrupted: () => void): () => void {
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted);
  return () => void process.off("SIGINT", interrupted).off("SIGTERM", interrupted);
}
