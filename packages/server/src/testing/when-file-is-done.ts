const cleanups: (() => Promise<void>)[] = [];

/** Works inside hooks, where Vitest ignores nested hooks. */
export function whenFileIsDone(cleanup: () => Promise<void>): void {
  cleanups.push(cleanup);
}

/** In reverse order. */
export async function cleanUp(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}
