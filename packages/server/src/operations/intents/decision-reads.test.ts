import { expect, test } from "vitest";
import type { Db, Query } from "../../ports.ts";
import { CommitLost } from "../../store/database/connection.ts";
import { createDecisionReads } from "./decision-reads.ts";

interface Statement {
  readonly org_id: string;
  readonly intents: readonly string[];
  readonly answer: (end?: Error) => void;
}

function world() {
  const under_way: Statement[] = [];
  const tenant = (org_id: string, work: (query: Query) => Promise<unknown>) =>
    work(((_text: string, [, intents]: [string, string[]]) => {
      return new Promise((resolve, reject) => {
        const rows = intents.filter((each) => each !== "absent").map((intent_id) => ({ intent_id }));
        under_way.push({ org_id, intents, answer: (end) => (end === undefined ? resolve(rows) : reject(end)) });
      });
    }) as unknown as Query);
  const taken = () => under_way.splice(0);
  const running = new Set<() => void>();
  const timers = {
    after(_: number, run: () => void) {
      running.add(run);
      return () => void running.delete(run);
    },
  };
  return { reads: createDecisionReads({ tenant } as Pick<Db, "tenant">, timers), taken, running };
}

const turn = () => new Promise(setImmediate);

test("thousands of requests share statements of 16 intents, two at a time", async () => {
  const { reads, taken } = world();
  const answers = Array.from({ length: 8_000 }, (_, n) => reads.read("org_1", `int_${n % 100}`));
  let left = answers.length;
  for (const each of answers) void each.then(() => (left -= 1));
  let statements = 0;
  while (left > 0) {
    const some = taken();
    expect(some.length).toBeLessThanOrEqual(2);
    statements += some.length;
    for (const each of some) each.answer();
    await turn();
  }
  expect(statements).toBeLessThanOrEqual(2 + Math.ceil(100 / 16));
  expect((await Promise.all(answers)).map((each) => each?.intent_id)).toEqual(
    Array.from({ length: 8_000 }, (_, n) => `int_${n % 100}`),
  );
});

test("many requests for one decision are answered over many turns of the event loop", async () => {
  const { reads, taken } = world();
  let answered = 0;
  const answers = Array.from({ length: 1_000 }, () => reads.read("org_1", "int_1").then(() => (answered += 1)));
  for (const each of taken()) each.answer();
  await turn();
  for (const each of taken()) each.answer();
  await turn();
  expect(answered).toBeLessThan(200);
  await Promise.all(answers);
});

test("a request during a statement gets the answer of a later one", async () => {
  const { reads, taken } = world();
  const before = reads.read("org_1", "int_1");
  const [first] = taken();
  const after = reads.read("org_1", "int_1");
  const [second] = taken();
  expect(second).not.toBe(first);
  second?.answer();
  await after;
  let answered = false;
  void before.then(() => (answered = true));
  await turn();
  expect(answered).toBe(false);
  first?.answer();
  await before;
});

test("organizations never share a statement or wait for another's", async () => {
  const { reads, taken } = world();
  for (let n = 0; n < 10; n++) void reads.read("org_1", `int_${n}`);
  const other = reads.read("org_2", "int_1");
  const of_other = taken().filter(({ org_id }) => org_id === "org_2");
  expect(of_other.map(({ intents }) => intents)).toEqual([["int_1"]]);
  of_other[0]?.answer();
  expect(await other).toEqual({ intent_id: "int_1" });
});

test("a missing decision is undefined, and a failure reaches all requests of its statement", async () => {
  const { reads, taken } = world();
  const absent = reads.read("org_1", "absent");
  const failing = reads.read("org_1", "int_1");
  const [first, second] = taken();
  first?.answer();
  second?.answer(new Error("lost"));
  expect(await absent).toBeUndefined();
  await expect(failing).rejects.toThrow("lost");
  const again = reads.read("org_1", "int_1");
  for (const each of taken()) each.answer();
  expect(await again).toEqual({ intent_id: "int_1" });
});

test("a read whose session is lost at its commit is repeated once", async () => {
  const { reads, taken } = world();
  const read = reads.read("org_1", "int_1");
  const lost = expect(reads.read("org_1", "int_2")).rejects.toThrow(CommitLost);
  for (const each of taken()) each.answer(new CommitLost());
  await turn();
  const [first, second] = taken();
  first?.answer();
  second?.answer(new CommitLost());
  expect(await read).toEqual({ intent_id: "int_1" });
  await lost;
});

test("while statements hang, requests without one fail after the patience; those with one wait for its end", async () => {
  const { reads, taken, running } = world();
  const ended: string[] = [];
  const ask = (intent_id: string) =>
    reads.read("org_1", intent_id).then(
      () => ended.push(`${intent_id} read`),
      ({ code }) => ended.push(`${intent_id} ${code}`),
    );
  for (const intent_id of ["int_1", "int_2", "int_3", "int_3", "int_4"]) void ask(intent_id);
  const hung = taken();
  expect(running.size).toBe(2);
  for (const run of running) run();
  await turn();
  expect(ended).toEqual(["int_3 unavailable", "int_3 unavailable", "int_4 unavailable"]);
  running.clear();
  void ask("int_3");
  for (const each of hung) each.answer();
  await turn();
  expect(running.size).toBe(0);
  for (const each of taken()) each.answer();
  await turn();
  expect(ended.slice(3)).toEqual(["int_1 read", "int_2 read", "int_3 read"]);
});
