/** The tables of docs/reference/specification.md against the tables of this package. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { deliveryHeaders, eventTypes } from "./event-types.ts";
import { factCategories, factCategoryNames } from "./facts/index.ts";
import { limits, rateCategories } from "./limits.ts";
import { operations } from "./operations/index.ts";

const page = readFileSync(new URL("../../../docs/reference/specification.md", import.meta.url), "utf8");

/** Returns the rows of all tables between two marks, without heads. Each row is its cells. */
function rowsBetween(from: string, to: string): string[][] {
  const part = page.slice(page.indexOf(from), page.indexOf(to));
  expect(part).not.toBe("");
  const lines = part.split("\n").filter((line) => line.startsWith("| ") || line.startsWith("|---"));
  return lines
    .filter((line, at) => !line.startsWith("|---") && !(lines[at + 1] ?? "").startsWith("|---"))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

test("section 2.9 has the facts of this package, with their types", () => {
  const marks = [...factCategoryNames.map((name) => `**${name}**`), '<a id="s2-10">'];
  for (const [index, category] of factCategoryNames.entries()) {
    const listed = rowsBetween(marks[index] as string, marks[index + 1] as string);
    const known = factCategories[category].fields.map(({ name, types }) => [name, [...types].sort()]);
    expect(listed.map(([name, types]) => [name, types?.split(/, | or /).sort()])).toEqual(known);
  }
});

test("section 4 has operations of the API", () => {
  const paths = new Set(Object.values(operations).map(({ method, path }) => `${method} ${path}`));
  const listed = rowsBetween("## 4. Endpoints", "Webhook registration:");
  expect(listed).toHaveLength(15);
  for (const [method, path] of listed) expect(paths).toContain(`${method} ${path}`);
});

test("section 6 has events that are sent, and the headers", () => {
  const sent = Object.entries(eventTypes).flatMap(([name, { sent }]) => (sent ? [name] : []));
  const listed = rowsBetween("## 6. Events", "Headers of each delivery:").map(([name]) => name);
  expect(listed).toHaveLength(9);
  expect(sent).toEqual(expect.arrayContaining(listed));
  const headers = deliveryHeaders.map(({ name }) => name);
  for (const [name] of rowsBetween("Headers of each delivery:", '<a id="s7">')) expect(headers).toContain(name);
});

test("section 8 has the rate limits and sizes", () => {
  const rates = rowsBetween("## 8. Limits", '<a id="s9">').map(([, requests]) => Number.parseInt(requests ?? "", 10));
  expect(rates).toEqual(Object.values(rateCategories).map(({ requests_max }) => requests_max));
  expect(page).toContain(`A batch has up to ${limits.batch_intents_max} intents`);
  expect(page).toContain(`at most ${limits.context_keys_per_category_max} keys in a category`);
});
