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

test("one large piece a turn, and no small piece waits behind large ones", async () => {
  const handOn = createTurns(2);
  const done: number[] = [];
  for (const bytes of [40_000, 4_097, 1_000_000, 1, 4_096, 2]) handOn(() => done.push(bytes), bytes);
  await nextTurn();
  expect(done).toEqual([1, 4_096, 40_000]);
  await nextTurn();
  expect(done.slice(3)).toEqual([2, 4_097]);
  await nextTurn();
  expect(done.slice(5)).toEqual([1_000_000]);
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
