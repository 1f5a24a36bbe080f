import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { runPolicyTests } from "../../packages/core/src/deciding/run-tests.ts";
import { domainFunctions } from "../../packages/core/src/functions/index.ts";
import { checkPolicy } from "../../packages/core/src/policy/check/check.ts";

const page = await readFile(new URL("../../docs/reference/policies.md", import.meta.url), "utf8");

test("the sample policy passes its own tests", () => {
  const [, text = ""] = /```yaml\n(.*?)```/s.exec(page) ?? [];
  const { document, diagnostics } = checkPolicy(text);
  expect(diagnostics).toEqual([]);
  if (document === null) throw new Error("no document");
  const results = runPolicyTests(document);
  expect(results.map(({ passed }) => passed)).toEqual([true, true]);
});

test("the listed functions are the engine's, with the same number of parameters", () => {
  const listed = Array.from(page.matchAll(/`(\w+)\(([\w, ]*)\)`/g), ([, name = "", given = ""]) => [
    name,
    given.split(",").length,
  ]);
  const engine = new Map(domainFunctions.map(({ name, parameters }) => [name, parameters.length]));
  expect(new Map(listed as [string, number][])).toEqual(engine);
});
