import { expect, test } from "vitest";
import { timers } from "./timers.ts";

test("a wait longer than Node's maximum, such as 90 days, does not end at once", async () => {
  const ran: string[] = [];
  const cancels = [90 * 86_400_000, 2 ** 31, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY].map((wait_ms) =>
    timers.after(wait_ms, () => void ran.push(String(wait_ms))),
  );
  // Node reads these as 1 ms.
  await new Promise<void>((resolve) => void timers.after(20, resolve));
  for (const cancel of cancels) cancel();
  expect(ran).toEqual([]);
});

test("a wait of 0 ends in a later turn, and a cancelled one never", async () => {
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
