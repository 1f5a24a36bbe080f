import { expect, test } from "vitest";
import { createBatchTurns } from "./batch-turns.ts";

const turns = () => createBatchTurns(100);

/** Work that has begun when it says so, and ends when it is told to. */
function begin(within: ReturnType<typeof turns>["within"], holder: string, bytes: number) {
  let begun = false;
  let end = (): void => undefined;
  const ended = within(holder, bytes, () => {
    begun = true;
    return new Promise<void>((resolve) => {
      end = resolve;
    });
  });
  const over = () => {
    end();
    return ended;
  };
  return { begun: () => begun, end: over };
}
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

test("as many are under way as fit, to the last byte, and the next ones in the order in which they came", async () => {
  const { within } = turns();
  const [one, two, three, four] = [60, 40, 1, 1].map((bytes) => begin(within, "a", bytes));
  await settled();
  expect([one, two, three, four].map((each) => each?.begun())).toEqual([true, true, false, false]);
  await two?.end();
  expect([three?.begun(), four?.begun()]).toEqual([true, true]);
});

test("a small one does not pass a large one that waits, and a large one comes alone", async () => {
  const { within } = turns();
  const first = begin(within, "a", 10);
  const large = begin(within, "a", 5_000);
  const small = begin(within, "a", 1);
  await settled();
  expect([large.begun(), small.begun()]).toEqual([false, false]);
  await first.end();
  expect([large.begun(), small.begun()]).toEqual([true, false]);
  await large.end();
  expect(small.begun()).toBe(true);
});

test("nobody waits for somebody else's, and who fails makes room", async () => {
  const { within } = turns();
  begin(within, "a", 100);
  expect(await within("b", 100, async () => "b")).toBe("b");
  await expect(within("c", 100, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await within("c", 100, async () => "c")).toBe("c");
});
