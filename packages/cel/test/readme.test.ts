import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { DYN, environment, type Result } from "../src/index.ts";

const env = environment({ variables: { facts: DYN, params: DYN } });
const text = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const rows = text
  .slice(text.indexOf("## Examples"), text.indexOf("## What is supported"))
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|")));

function shown(r: Result): string {
  if (r.kind === "value") return `\`${JSON.stringify(r.value)}\``;
  if (r.kind === "error") return `error: \`${r.message}\``;
  return `unknown: ${r.unknowns.map((c) => `\`${c.path}\` ${c.reason}`).join(", ")}`;
}

describe("the examples of the README", () => {
  it("are there", () => {
    expect(rows.length).toBeGreaterThan(10);
  });

  for (const [, expression = "", bindings = "", result = ""] of rows) {
    it(`${expression} is ${result}`, () => {
      const program = env.compile(expression.slice(1, -1));
      expect(shown(program.evaluate(JSON.parse(bindings.slice(1, -1)) as Record<string, unknown>))).toBe(result);
    });
  }
});
