import { describe, expect, it, vi } from "vitest";
import { DYN, environment } from "../src/index.ts";
import { pattern } from "../src/stdlib/regex.ts";

const env = environment({ variables: { a: DYN, b: DYN } });
const evaluate = (source: string, bindings: Record<string, unknown> = {}, left = 100_000) =>
  env.compile(source).evaluate(bindings, { budget: { left } });

describe("a pattern", () => {
  const many = "(a?){1000}".repeat(300);

  it("whose repetitions would expand to megabytes is refused, as a literal and as a value", () => {
    expect(() => evaluate(`"a".matches("${many.slice(0, 900)}")`)).toThrow(/repetitions/);
    expect(evaluate("a.matches(b)", { a: "a", b: many.slice(0, 900) }).kind).toBe("error");
  });

  it.each([
    `(?:(?:${"a?".repeat(450)}){31}){32}`,
    `(?:(?:(?:${"a?".repeat(450)}){10}){10}){10}`,
    `(?:(?:${"a?".repeat(450)}){31}(?i)){32}`,
    `(?:${"a?".repeat(450)}){31}(?i){32}`,
    `(?:(?:${"[]()]?".repeat(150)}){31}){32}`,
    `(?:(?:\\Q)\\E${"a?".repeat(450)}){31}){32}`,
  ])("with nested repetitions is refused: %#", (source) => {
    expect(() => evaluate(`"a".matches(${JSON.stringify(source)})`)).toThrow(/repetitions/);
  });

  it.each(["[\u0100-\uffff]", "\\x{e0}-\\x{ffff}", "\\d-!-\uffff", "\n-\uffff"])(
    "without case that has too many of %j is refused",
    (wide) => {
      const source = `(?i)[${wide.repeat(60)}]`;
      expect(() => evaluate(`"a".matches(${JSON.stringify(source)})`)).toThrow(/ranges/);
    },
  );

  it.each([`(${"a?".repeat(42)}){1000}`, `(?i)[${"!-\uffff".repeat(20)}]`, "\\pL".repeat(300)])(
    "is refused if it exceeds the limit together with earlier ones: %#",
    (source) => {
      const [one, other, small] = [source, `${source}b`, "c"].map((each) => `a.matches(${JSON.stringify(each)})`);
      expect(() => env.compile(`${one} || ${small}`)).not.toThrow();
      const { diagnostics } = env.check(`${one} || ${other} || ${small}`);
      expect(diagnostics.filter(({ severity }) => severity === "error")).toMatchObject([{ code: "pattern" }]);
    },
  );

  it("is refused if it is longer than the match limit", () => {
    const matches = (length: number) => `a.matches("${"x".repeat(length)}")`;
    expect(evaluate(matches(1_000), { a: "x".repeat(1_000) })).toMatchObject({ kind: "value", value: true });
    expect(() => evaluate(matches(1_001))).toThrow(/longer than 1000/);
  });

  it("stays compiled while a thousand are used in turn", () => {
    const sources = Array.from({ length: 1_000 }, (_, i) => `^user-${i}@[a-z]+$`);
    const compiled = sources.map(pattern);
    expect(sources.map(pattern).every((again, i) => again === compiled[i])).toBe(true);
  });

  it("is dropped from the cache for others that take much memory", () => {
    const small = pattern("small");
    for (let i = 0; i < 4; i++) expect(pattern(`(?:${"a?".repeat(45)}${i}){900}`)).not.toBeNull();
    expect(pattern("small")).not.toBe(small);
  });

  it("is not matched with a text that is too long for the budget", () => {
    const matcher = vi.spyOn(pattern("[ab]*a[ab]{500}[cd]") as object as { matcher(text: string): unknown }, "matcher");
    expect(evaluate('a.matches("[ab]*a[ab]{500}[cd]")', { a: "ab".repeat(350_000) }).kind).toBe("unknown");
    expect(matcher).not.toHaveBeenCalled();
    evaluate('a.matches("[ab]*a[ab]{500}[cd]")', { a: "ab" });
    expect(matcher).toHaveBeenCalledTimes(1);
  });

  it("may be a usual one for an address or an account, beside many others", () => {
    const octet = "(25[0-5]|(2[0-4]|1{0,1}[0-9]){0,1}[0-9])";
    const group = "[0-9a-fA-F]{1,4}";
    const ipv6 = [
      `(${group}:){7,7}${group}|(${group}:){1,7}:|(${group}:){1,6}:${group}|(${group}:){1,5}(:${group}){1,2}`,
      `(${group}:){1,4}(:${group}){1,3}|(${group}:){1,3}(:${group}){1,4}|(${group}:){1,2}(:${group}){1,5}`,
      `${group}:((:${group}){1,6})|:((:${group}){1,7}|:)|fe80:(:[0-9a-fA-F]{0,4}){0,4}%[0-9a-zA-Z]{1,}`,
      `::(ffff(:0{1,4}){0,1}:){0,1}(${octet}[.]){3,3}${octet}|(${group}:){1,4}:(${octet}[.]){3,3}${octet}`,
    ].join("|");
    const accounts = ["AT", "BE", "CH", "DE", "ES", "FR", "GB", "IT", "NL"].map(
      (country) => `${country}[0-9]{2}[A-Z0-9]{20}`,
    );
    const urgent = "(?is)(?:wire|transfer|send).{0,200}(?:urgent|today).{0,200}(?:gift cards?|crypto)";
    const many = Array.from({ length: 20 }, (_, i) => `^[a-z0-9.-]{1,256}[.]${i}[a-z]{2,63}$`);
    const sources = [`^(${ipv6})$`, `^(?:${accounts.join("|")})$`, urgent, ...many];
    const matches = sources.map((source) => `a.matches(${JSON.stringify(source)})`);
    expect(evaluate(matches.join(" || "), { a: "2001:db8::1" })).toMatchObject({ kind: "value", value: true });
  });

  it("may have usual repetitions", () => {
    for (const source of [
      "[0-9]{1000}",
      "[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}",
      "a{2,}",
      "{x}",
      "(?:[0-9]{1,3}[.]){3}[0-9]{1,3}",
      "(?i)^[\\\\w\\\\x{80}-\\\\x{10FFFF}]+@[a-z\\\\x{80}-\\\\x{10FFFF}][a-z\\\\x{80}-\\\\x{10FFFF}-]{0,61}$",
      "(?i)^[\\\\pL\\\\pN .'-]+@[a-z\u00e0-\u00ff]+$",
      `(?i)[${"\u00e0-\u00ff\u0400-\u04ff".repeat(40)}]`,
    ])
      expect(evaluate(`a.matches("${source}")`, { a: "x" }).kind, source).toBe("value");
  });
});
