import { expect, test } from "vitest";
import type { Db, Query } from "../../ports.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { createReviewWaits } from "./review-waits.ts";

function world() {
  const waits = new Map<string, number>();
  let statements = 0;
  const query = (async (text: string, [, , ids = [], seconds = []]: readonly (readonly never[])[]) => {
    statements += 1;
    await new Promise(setImmediate);
    for (const [n, id] of ids.entries()) {
      if (text.startsWith("delete")) waits.delete(id);
      else waits.set(id, seconds[n] ?? 0);
    }
    return [];
  }) as unknown as Query;
  const db = { tenant: (_: string, work: (query: Query) => Promise<unknown>) => work(query) } as unknown as Db;
  return { waits, statements: () => statements, book: createReviewWaits(db, "node", silentLog) };
}

const settled = async () => {
  for (let n = 0; n < 20; n += 1) await new Promise(setImmediate);
};

test("a wait is noted until five seconds after its end, even if its time is over", async () => {
  const { waits, book } = world();
  const end = book.begin("org_1", "esc_1", 55);
  await settled();
  expect([...waits]).toEqual([["esc_1", 60]]);
  end(false);
  await settled();
  expect([...waits]).toEqual([["esc_1", 60]]);
});

test("a wait is forgotten when the last waiting client is gone", async () => {
  const { waits, book } = world();
  const ends = [book.begin("org_1", "esc_1", 5), book.begin("org_1", "esc_1", 9)];
  await settled();
  ends[0]?.(true);
  await settled();
  expect([...waits]).toEqual([["esc_1", 14]]);
  ends[1]?.(true);
  await settled();
  expect([...waits]).toEqual([]);
});

test("a client that leaves at once is not noted, and one that returns is", async () => {
  const { waits, book } = world();
  book.begin("org_1", "esc_1", 5)(true);
  await settled();
  expect([...waits]).toEqual([]);
  book.begin("org_1", "esc_1", 5)(true);
  book.begin("org_1", "esc_1", 7);
  await settled();
  expect([...waits]).toEqual([["esc_1", 12]]);
});

test("a thousand waits that begin at once cost two statements", async () => {
  const { waits, statements, book } = world();
  for (let n = 0; n < 1_000; n += 1) book.begin("org_1", `esc_${n}`, 5);
  await settled();
  expect([waits.size, statements()]).toEqual([1_000, 2]);
});
