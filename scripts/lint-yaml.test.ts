import { expect, it } from "vitest";
import { yamlProblems } from "./lint-yaml.ts";

it.each([
  ["a: 1\nb: [1, 2]\n", []],
  ["a: 1\na: 2\n", ["x.yaml:2"]],
  ["a: [1\n", ["x.yaml:"]],
  ["a: 1 \n", ["x.yaml:1 trailing white space"]],
])("%j has these problems: %j", (text, problems) => {
  const found = yamlProblems("x.yaml", text);
  expect(found).toHaveLength(problems.length);
  for (const [index, problem] of problems.entries()) expect(found[index]).toContain(problem);
});
