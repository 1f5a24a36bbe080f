/** What a turn of the event loop may take. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createTurns } from "./turns.ts";

test("so many pieces a turn, in their order, none in the turn that it came in", async () => {
  const handOn = createTurns(3);
  const done: number[] = [];
  for (let n = 0; n < 7; n += 1) handOn(() => done.push(n), 1);
  const after: number[] = [done.length];
  while (done.length < 7) {
    await nextTurn();
    after.push(done.length);
  }
  expect(after).toEqual([0, 3, 6, 7]);
  expect(done).toEqual([0, 1, 2, 3, 4, 5, 6]);
});

test("large pieces have a turn alone, and small ones one together of so many bytes", async () => {
  const handOn = createTurns(16);
  const done: number[] = [];
  for (const bytes of [40_000, 16_384, 16_384, 1, 1_000_000, 2]) handOn(() => done.push(bytes), bytes);
  const after: number[] = [];
  while (done.length < 6) {
    await nextTurn();
    after.push(done.length);
  }
  expect(after).toEqual([1, 3, 4, 5, 6]);
});

test("what a piece adds comes in a later turn, once, however much waits", async () => {
  for (const waiting of [0, 5]) {
    const handOn = createTurns(2);
    const done: string[] = [];
    handOn(() => handOn(() => done.push("added"), 1), 1);
    for (let n = 0; n < waiting; n += 1) handOn(() => done.push("waiting"), 1);
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
    expect(done).toEqual([...Array(waiting).fill("waiting"), "added"]);
  }
});
