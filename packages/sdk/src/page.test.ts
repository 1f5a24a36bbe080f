import { expect, test } from "vitest";
import { pagesOf } from "./page.ts";

const rows = ["a", "b", "c", "d", "e"];
const asked: unknown[] = [];
async function list(query: { readonly limit: number; readonly cursor?: string }) {
  asked.push(query);
  const from = Number(query.cursor ?? 0);
  const to = from + query.limit;
  return { rows: rows.slice(from, to), next_cursor: to < rows.length ? String(to) : null };
}

test("all pages come in order, each requested only when it is needed", async () => {
  const seen: string[] = [];
  for await (const page of pagesOf((place) => list({ limit: 2, ...place }))) {
    seen.push(page.rows.join(""));
    expect(asked).toHaveLength(seen.length);
  }
  expect(seen).toEqual(["ab", "cd", "e"]);
  expect(asked).toEqual([{ limit: 2 }, { limit: 2, cursor: "2" }, { limit: 2, cursor: "4" }]);
});

test("leaving the loop requests no further page, and an error of the list ends it", async () => {
  asked.length = 0;
  for await (const page of pagesOf((place) => list({ limit: 2, ...place }))) if (page.rows.includes("c")) break;
  expect(asked).toHaveLength(2);
  const broken = pagesOf(() => Promise.reject(new Error("away")));
  await expect(broken.next()).rejects.toThrow("away");
  expect((await broken.next()).done).toBe(true);
});

test("an empty list has one page", async () => {
  const pages = [];
  for await (const page of pagesOf(async () => ({ rows: [], next_cursor: null }))) pages.push(page);
  expect(pages).toEqual([{ rows: [], next_cursor: null }]);
});
