import pLimit from "p-limit";

/** Each call needs a connection. */
const at_once_max = 24;

/** Returns the results in the order of `all`. */
export function sideBySide<T, R>(all: Iterable<T>, work: (each: T, at: number) => Promise<R>): Promise<R[]> {
  return pLimit(at_once_max).map(all, work);
}
