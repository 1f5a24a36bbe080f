import pLimit from "p-limit";

/** Number of parallel calls. Each needs a connection, and a file should use few. */
const at_once_max = 24;

/** Calls `work` for every entry, at most 24 calls at a time, and returns the results in the order of `all`. */
export function sideBySide<T, R>(all: Iterable<T>, work: (each: T, at: number) => Promise<R>): Promise<R[]> {
  return pLimit(at_once_max).map(all, work);
}
