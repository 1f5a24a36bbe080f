import { expect, test } from "vitest";
import { KnownConversations } from "./known-conversations.ts";

function memory() {
  const ended: string[] = [];
  const known = new KnownConversations<{ is_busy: boolean; end: () => Promise<void> }>(2);
  const add = (key: string, is_busy = false) => known.add(key, { is_busy, end: async () => void ended.push(key) });
  return { known, add, ended };
}

test("replaces and ends the idle conversation that was used longest ago", () => {
  const { known, add, ended } = memory();
  for (const key of ["a", "b"]) expect(add(key)).toBe(true);
  known.get("a");
  expect(add("c")).toBe(true);
  expect(ended).toEqual(["b"]);
  expect(["a", "b", "c"].map((key) => known.get(key) !== undefined)).toEqual([true, false, true]);
});

test("takes no more while all are busy", () => {
  const { known, add, ended } = memory();
  for (const key of ["a", "b"]) add(key, true);
  expect(add("c")).toBe(false);
  expect(ended).toEqual([]);
  known.delete("a");
  expect(add("c")).toBe(true);
});

test("ends all", async () => {
  const { known, add, ended } = memory();
  for (const key of ["a", "b"]) add(key);
  await known.end();
  expect(ended).toEqual(["a", "b"]);
});
