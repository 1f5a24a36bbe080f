const cleanups: (() => Promise<void>)[] = [];

/** Registers `cleanup` for the end of the file's tests, even inside hooks, where Vitest ignores nested hooks. */
export function whenFileIsDone(cleanup: () => Promise<void>): void {
  cleanups.push(cleanup);
}

/** In reverse order. For the setup of test files. */
export async function cleanUp(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}
