/** What a test file leaves behind is taken down when it is done, wherever it was made. */
const cleanups: (() => Promise<void>)[] = [];

/** Has `cleanup` run after the file's tests. Vitest forgets hooks that are registered inside hooks; this may be called there. */
export function whenFileIsDone(cleanup: () => Promise<void>): void {
  cleanups.push(cleanup);
}

/** Undoes all in reverse order. For the setup of test files. */
export async function cleanUp(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}
