import { expect, test } from "vitest";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { inTurns } from "./turns.ts";

function held(lanes: number) {
  const begun: string[] = [];
  const ends = new Map<string, (needs_another: boolean) => void>();
  const errors: string[] = [];
  const log = { ...silentLog, error: (fields: object) => void errors.push((fields as { org_id: string }).org_id) };
  const turns = inTurns(log, lanes, (org_id) => {
    begun.push(org_id);
    return new Promise<boolean>((resolve, reject) =>
      ends.set(org_id, (needs_another) =>
        org_id === "bad" ? reject(new Error("no database")) : resolve(needs_another),
      ),
    );
  });
  const end = async (org_id: string, needs_another = false) => {
    ends.get(org_id)?.(needs_another);
    await new Promise(setImmediate);
  };
  return { turns, begun, errors, end };
}

test("an organization that needs another turn waits behind the others, and is in the queue only once", async () => {
  const { turns, begun, end } = held(1);
  for (const org_id of ["a", "b", "c", "b"]) turns.add(org_id);
  expect([begun, turns.waiting()]).toEqual([["a"], 2]);
  await end("a", true);
  await end("b");
  await end("c");
  await end("a");
  expect([begun, turns.waiting()]).toEqual([["a", "b", "c", "a"], 0]);
  turns.add("c");
  expect(begun.at(-1)).toBe("c");
});

test("each lane runs one turn at a time, and never two of one organization", async () => {
  const { turns, begun, end } = held(2);
  for (const org_id of ["a", "a", "a", "b", "c"]) turns.add(org_id);
  expect(begun).toEqual(["a", "b"]);
  await end("b");
  expect(begun).toEqual(["a", "b", "c"]);
  await end("c");
  expect([begun.length, turns.waiting()]).toEqual([3, 1]);
  await end("a");
  expect(begun.at(-1)).toBe("a");
});

test("a turn that fails is logged, and the next one follows", async () => {
  const { turns, begun, errors, end } = held(1);
  for (const org_id of ["bad", "a"]) turns.add(org_id);
  await end("bad");
  expect([begun, errors]).toEqual([["bad", "a"], ["bad"]]);
});

test("a stop waits for the running turns, and no other begins", async () => {
  const { turns, begun, end } = held(1);
  for (const org_id of ["a", "b"]) turns.add(org_id);
  let stopped = false;
  const stopping = turns.stop().then(() => (stopped = true));
  await new Promise(setImmediate);
  expect(stopped).toBe(false);
  await end("a", true);
  await stopping;
  turns.add("c");
  expect([begun, turns.waiting()]).toEqual([["a"], 0]);
});
