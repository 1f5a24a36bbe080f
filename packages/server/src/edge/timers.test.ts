import { expect, test } from "vitest";
import { timers } from "./timers.ts";

test("a wait longer than Node can hold, 90 days for one, is not over at once", async () => {
  const ran: string[] = [];
  const cancels = [90 * 86_400_000, 2 ** 31, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY].map((wait_ms) =>
    timers.after(wait_ms, () => void ran.push(String(wait_ms))),
  );
  // Node takes them for 1 ms, so they would be first.
  await new Promise<void>((resolve) => void timers.after(20, resolve));
  for (const cancel of cancels) cancel();
  expect(ran).toEqual([]);
});

test("a wait that is over already ends in a later turn, and one that is cancelled never", async () => {
  const ran: string[] = [];
  const cancel = timers.after(-5, () => void ran.push("cancelled"));
  const over = new Promise<void>((resolve) => {
    timers.after(-5, () => {
      ran.push("over");
      resolve();
    });
  });
  cancel();
  expect(ran).toEqual([]);
  await over;
  expect(ran).toEqual(["over"]);
});
