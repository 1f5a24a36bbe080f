import { expect, test } from "vitest";
import { createContextPauses } from "./context-pauses.ts";

function pauses() {
  const timers = new Set<() => void>();
  const made = createContextPauses({
    after(_, run) {
      timers.add(run);
      return () => void timers.delete(run);
    },
  });
  const told: string[] = [];
  const push = async (org_id: string) => {
    await made.over(org_id);
    told.push(org_id);
  };
  return { ...made, push, told, timers };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("pushes wait for all decisions that began a pause, but not for those of other organizations", async () => {
  const { begin, push, told, timers } = pauses();
  const ends = [begin("a"), begin("a")];
  void push("a");
  void push("b");
  await turn();
  expect(told).toEqual(["b"]);
  ends[0]?.();
  await turn();
  expect(told).toEqual(["b"]);
  ends[1]?.();
  await turn();
  expect(told).toEqual(["b", "a"]);
  await push("a");
  expect(told).toEqual(["b", "a", "a"]);
  expect(timers.size).toBe(0);
});

test("a push waits only for a limited time, and a late end concerns only the next pause", async () => {
  const { begin, push, told, timers } = pauses();
  const end = begin("a");
  void push("a");
  for (const run of timers) run();
  await turn();
  expect(told).toEqual(["a"]);
  end();
  const endNext = begin("a");
  void push("a");
  await turn();
  expect(told).toEqual(["a"]);
  endNext();
  await turn();
  expect(told).toEqual(["a", "a"]);
});
