import { describe, expect, it } from "vitest";
import { DYN, environment } from "../src/index.ts";
import { pattern } from "../src/stdlib/regex.ts";

const env = environment({ variables: { a: DYN, b: DYN } });
const evaluate = (source: string, bindings: Record<string, unknown> = {}, left = 100_000) =>
  env.compile(source).evaluate(bindings, { budget: { left } });

describe("a pattern", () => {
  const many = "(a?){1000}".repeat(300);

  it("whose repetitions would be written out to megabytes is refused, as a literal and as a value", () => {
    expect(() => evaluate(`"a".matches("${many}")`)).toThrow(/repetitions/);
    expect(evaluate("a.matches(b)", { a: "a", b: many.slice(0, 900) }).kind).toBe("error");
  });

  it.each(["[\u0100-\uffff]", "\\x{e0}-\\x{ffff}", "\\pL"])(
    "without case that has too many of %s is refused",
    (wide) => {
      const source = `(?i)[${wide.repeat(800)}]`;
      expect(() => evaluate(`"a".matches(${JSON.stringify(source)})`)).toThrow(/ranges/);
    },
  );

  it("stays compiled while a thousand are in use in turns", () => {
    const sources = Array.from({ length: 1_000 }, (_, i) => `^user-${i}@[a-z]+$`);
    const compiled = sources.map(pattern);
    expect(sources.map(pattern).every((again, i) => again === compiled[i])).toBe(true);
  });

  it("may repeat what people repeat", () => {
    for (const source of [
      "[0-9]{1000}",
      "[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}",
      "a{2,}",
      "{x}",
      "(?:[0-9]{1,3}[.]){3}[0-9]{1,3}",
      "(?i)^[\\\\pL\\\\pN .'-]+@[a-z\u00e0-\u00ff]+$",
      `(?i)[${"\u00e0-\u00ff\u0400-\u04ff".repeat(40)}]`,
    ])
      expect(evaluate(`a.matches("${source}")`, { a: "x" }).kind, source).toBe("value");
  });
});
