import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { testTitles } from "../docs/test-titles.ts";

interface Promised {
  readonly about: "registration" | "delivery" | "events";
  readonly promise: string;
  readonly tests: readonly { readonly file: string; readonly title: string }[];
}

const promises: readonly Promised[] = JSON.parse(
  readFileSync(new URL("../data/webhook-promises.json", import.meta.url), "utf8"),
);

const titlesOf = (file: string) => testTitles(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8"));

test.each(promises.map((each) => [each.promise, each] as const))("%s", (_promise, { tests }) => {
  expect(tests).not.toEqual([]);
  expect(tests.filter(({ file, title }) => !titlesOf(file).has(title))).toEqual([]);
});

test("a missing or skipped test is detected", () => {
  const file = "test/webhooks/webhook-promises.test.ts";
  expect(titlesOf(file).has("a missing or skipped test is detected")).toBe(true);
  expect(titlesOf(file).has("a test that nobody wrote")).toBe(false);
  for (const { file: each } of promises.flatMap(({ tests }) => tests))
    expect(readFileSync(new URL(`../../${each}`, import.meta.url), "utf8")).not.toMatch(
      /\b(?:test|it|describe)\.(?:skip|only|todo)\b/,
    );
});

test("every promise is made once, about each of the three", () => {
  expect(new Set(promises.map(({ promise }) => promise)).size).toBe(promises.length);
  expect(new Set(promises.map(({ about }) => about))).toEqual(new Set(["registration", "delivery", "events"]));
});
