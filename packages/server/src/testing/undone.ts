import { expect } from "vitest";
import type { Db, Query } from "../ports.ts";

class Undone extends Error {}

/** Returns what `look` finds after `change`, and undoes the change. */
export async function foundAfter<T>(
  db: Pick<Db, "system">,
  change: (query: Query) => Promise<unknown>,
  look: (query: Query) => Promise<T>,
): Promise<T> {
  const found: T[] = [];
  const changing = db.system(async (query) => {
    await change(query);
    found.push(await look(query));
    throw new Undone();
  });
  await expect(changing).rejects.toThrow(Undone);
  return found[0] as T;
}
