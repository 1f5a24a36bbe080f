import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { createTurns, inTurns } from "./turns.ts";

afterEach(() => vi.useRealTimers());

test("a limited number of pieces runs per turn, in order, and never in the turn of their arrival", async () => {
  const handOn = createTurns(3);
  const done: number[] = [];
  for (let n = 0; n < 7; n += 1) handOn(() => done.push(n), 1, "a");
  const after: number[] = [done.length];
  while (done.length < 7) {
    await nextTurn();
    after.push(done.length);
  }
  expect(after).toEqual([0, 3, 6, 7]);
  expect(done).toEqual([0, 1, 2, 3, 4, 5, 6]);
});

test("one large piece per turn, and no small piece waits behind large ones", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
  const handOn = createTurns(2);
  const done: number[] = [];
  for (const bytes of [40_000, 4_097, 1_000_000, 1, 4_096, 2]) handOn(() => done.push(bytes), bytes, "a");
  await nextTurn();
  expect(done).toEqual([40_000, 1, 4_096]);
  await nextTurn();
  expect(done.slice(3)).toEqual([4_097, 2]);
  await nextTurn();
  expect(done.slice(5)).toEqual([1_000_000]);
});

test("work that a piece adds runs once, in a later turn", async () => {
  for (const waiting of [0, 5]) {
    const handOn = createTurns(2);
    const done: string[] = [];
    handOn(() => handOn(() => done.push("added"), 1, "a"), 1, "a");
    for (let n = 0; n < waiting; n += 1) handOn(() => done.push("waiting"), 1, "a");
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
    expect(done).toEqual([...Array(waiting).fill("waiting"), "added"]);
  }
});

test("after a long piece the next large one waits three times its duration, and small ones do not wait", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
  const handOn = createTurns(2);
  const done: string[] = [];
  const addLarge = (name: string, took_ms: number, holder = "a") =>
    handOn(
      () => {
        vi.advanceTimersByTime(took_ms);
        done.push(name);
      },
      5_000,
      holder,
    );
  addLarge("long", 10);
  addLarge("next", 0);
  await nextTurn();
  handOn(() => done.push("small"), 1, "a");
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  expect(done).toEqual(["long", "small"]);
  vi.advanceTimersByTime(29);
  await nextTurn();
  expect(done).toEqual(["long", "small"]);
  vi.advanceTimersByTime(1);
  await nextTurn();
  expect(done).toEqual(["long", "small", "next"]);
});

test("each holder has a queue: others' large pieces run between, and do not wait while one pauses", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
  const handOn = createTurns(2);
  const done: string[] = [];
  for (const name of ["a1", "a2", "b1", "b2", "c1"]) handOn(() => done.push(name), 5_000, name.charAt(0));
  for (let turn = 0; turn < 6; turn += 1) await nextTurn();
  expect(done).toHaveLength(5);
  expect(done.slice(0, 3).toSorted()).toEqual(["a1", "b1", "c1"]);
  const long = () => void vi.advanceTimersByTime(3_600_000);
  handOn(long, 5_000, "a");
  handOn(() => done.push("a3"), 5_000, "a");
  handOn(() => done.push("b3"), 5_000, "b");
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  expect(done.slice(5)).toEqual(["b3"]);
  vi.advanceTimersByTime(250);
  await nextTurn();
  expect(done.slice(5)).toEqual(["b3", "a3"]);
});

test("steps also wait after a long one, and errors of a step are thrown", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
  const done: number[] = [];
  function* steps(): Generator<void, string> {
    for (const took_ms of [1, 10]) {
      vi.advanceTimersByTime(took_ms);
      done.push(took_ms);
      yield;
    }
    return "over";
  }
  const result = inTurns(steps());
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  expect(done).toEqual([1, 10]);
  let over = "";
  void result.then((value) => {
    over = value;
  });
  vi.advanceTimersByTime(29);
  await nextTurn();
  expect(over).toBe("");
  vi.advanceTimersByTime(1);
  for (let turn = 0; turn < 2; turn += 1) await nextTurn();
  expect(over).toBe("over");
  function* failing(): Generator<void, never> {
    yield;
    throw new Error("no such step");
  }
  await expect(inTurns(failing())).rejects.toThrow("no such step");
});
