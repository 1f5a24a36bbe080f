/** For each of: reviews, tasks, links, other requests. */
const remembered_max = 1_000;

/** Sets the entry as the newest one, and deletes the oldest one beyond the limit. */
export function remember<Value>(memory: Map<string, Value>, key: string, value: Value): void {
  memory.delete(key);
  memory.set(key, value);
  const [oldest = key] = memory.keys();
  if (memory.size > remembered_max) memory.delete(oldest);
}
