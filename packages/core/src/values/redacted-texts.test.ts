import { hiddenTexts } from "@countersign/contract";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { holdsAnyText, withoutTexts } from "./redacted-texts.ts";

test("redacted values occur nowhere in a text, and other values stay", () => {
  const content = { ssn: "123-45-6789", account: 99887766, note: "pay rent", list: ["abcd", "shown twice"], pin: "12" };
  const shown = { ssn: "[redacted]", note: "pay rent", list: ["shown twice"] };
  const hidden = hiddenTexts(content, shown);
  expect(hidden).toEqual(["123-45-6789", "99887766", "abcd"]);
  expect(
    withoutTexts({ summary: "pay rent for 123-45-6789, 99887766 (12)", target: [99887766, 12, null] }, hidden),
  ).toEqual({
    summary: "pay rent for [redacted], [redacted] (12)",
    target: ["[redacted]", 12, null],
  });
  expect(hiddenTexts(content, content)).toEqual([]);
});

test("names of redacted members that are data are redacted, in paths too, but not names of fields", () => {
  const names = ["123-45-6789", "ann@example.com", "MRN00412", 'Ann "Al" Ox'];
  const patients = Object.fromEntries(names.map((name) => [name, { consent: true, address_line_1: null }]));
  const hidden = hiddenTexts({ patients, rooms: { "12-34": 1 } }, { rooms: { "12-34": 1 } });
  for (const name of names) {
    const told = withoutTexts([`params.patients[${JSON.stringify(name)}].consent is missing`, `see ${name}`], hidden);
    expect(told).toEqual(['params.patients["[redacted]"].consent is missing', "see [redacted]"]);
  }
  const plain = "consent and address_line_1 of patients, room 12-34";
  expect(withoutTexts(plain, hidden)).toBe(plain);
});

test("a redacted value is found without the spaces and line ends around it", () => {
  const content = { ssn: "123-45-6789\n", names: { " Ann Ox ": 1 }, list: ["\tabcd"], pin: " 12 " };
  const hidden = hiddenTexts(content, {});
  expect(withoutTexts("Ann Ox (123-45-6789) has abcd and 12", hidden)).toBe(
    "[redacted] ([redacted]) has [redacted] and 12",
  );
  expect(withoutTexts("ssn 123-45-6789\nand more", hidden)).toBe("ssn [redacted]and more");
  expect(hiddenTexts(content, { ...content, ssn: "[redacted]", shown: "123-45-6789" })).toEqual([
    "123-45-6789\\n",
    "123-45-6789\n",
  ]);
});

test("members with redacted names stay distinct: no value is lost", () => {
  const said = { "123-45-6789": "paid", "987-65-4321": "failed", at: "noon" };
  expect(withoutTexts(said, ["123-45-6789", "987-65-4321"])).toEqual({
    "[redacted]": "paid",
    "[redacted] (2)": "failed",
    at: "noon",
  });
});

test("of two redacted texts the longer one is replaced first", () => {
  const hidden = hiddenTexts({ a: "12345", b: "123456" }, {});
  expect(withoutTexts("123456 12345", hidden)).toBe("[redacted] [redacted]");
});

test("a list of the maximum number of entries is searched", () => {
  const rows = Array.from({ length: 250_000 }, () => 1);
  expect(hiddenTexts({ rows, ssn: "123-45-6789" }, { rows })).toEqual(["123-45-6789"]);
  expect(holdsAnyText([rows, "for 123-45-6789"], ["123-45-6789"])).toBe(true);
});

test("overlapping redacted texts are removed completely", () => {
  expect(withoutTexts("xabcdefx abcd", ["abcd", "cdef"])).toBe("x[redacted]x [redacted]");
  expect(withoutTexts("abcdabcd", ["abcd"])).toBe("[redacted][redacted]");
});

test("all redacted texts are found, and nothing else is removed", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "🐱"), minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 8 }), fc.array(word), (hidden, words) => {
      const text = words.join("");
      const struck = Array.from({ length: text.length }, () => false);
      for (const each of hidden)
        for (let at = text.indexOf(each); at >= 0; at = text.indexOf(each, at + 1))
          struck.fill(true, at, at + each.length);
      const left = struck.map((gone, at) => (gone ? "" : text[at])).join("");
      expect(withoutTexts(text, hidden).replaceAll("[redacted]", "")).toBe(left);
      expect(holdsAnyText([text], hidden)).toBe(struck.includes(true) && text.trim().length >= 4);
    }),
    { numRuns: runs(2_000) },
  );
});

test("a redacted text longer than the previously searched text is found in a longer one", () => {
  const long = "ab c".repeat(200_000);
  const hidden = [long, "abcd", "x".repeat(50)];
  expect(withoutTexts(["to abcd", "x".repeat(51)], hidden)).toEqual(["to [redacted]", "[redacted]"]);
  expect(withoutTexts(["abcd", `see ${long}`, "x".repeat(50)], hidden)).toEqual([
    "[redacted]",
    "see [redacted]",
    "[redacted]",
  ]);
});

test("tens of thousands of redacted texts are searched at once: one after the other took nine seconds", () => {
  const rows = Array.from({ length: 30_000 }, (_, i) => `row-${String(i).padStart(6, "0")}`);
  const long = ["row-xyz ".repeat(60_000), ...Array.from({ length: 10_000 }, (_, i) => `note ${i}`)];
  expect(withoutTexts(long, rows)).toEqual(long);
  expect(holdsAnyText([...long, "to row-029999."], rows)).toBe(true);
  const run = "a".repeat(100_000);
  expect(holdsAnyText(run, [`${run.slice(0, 1_000)}b${run.slice(0, 50_000)}`])).toBe(false);
});

test.each([
  ["4111111111111111", "card 4111 1111 1111 1111, please", "card [redacted], please"],
  ["4111 1111 1111 1111", "card 4111-1111-1111-1111", "card [redacted]"],
  ["4111-1111-1111-1111", "(4111111111111111)", "([redacted])"],
  ["DE89370400440532013000", "to de89 3704 0044 0532 0130 00.", "to [redacted]."],
  ["+1 415 555 0100", "call 1-415-555-0100 or (415) 555-0101", "call [redacted] or (415) 555-0101"],
  ["4155550100", "call (415) 555-0100, or 415.555.0100", "call ([redacted], or [redacted]"],
  ["123-45-6789", "1\u200b2\u200b3 45\u00a06789", "[redacted]"],
  ["123-45-6789", "ssn123456789x", "ssn[redacted]x"],
  ["123456", "code 123 456", "code [redacted]"],
  ["1000000", "1,000,000 or 1 000 000 USD", "[redacted] or [redacted] USD"],
  ["1,000,000", "1000000 USD", "[redacted] USD"],
])("a redacted number is found with other grouping: %s", (hidden, said, told) => {
  expect(withoutTexts(said, [hidden])).toBe(told);
});

test.each([
  ["250000", "an amount of 2500.00 is not 25,0000 or 2,500.00"],
  ["2500.00", "250000"],
  ["1234567", "123, 4567 and 123,4567"],
  ["1234567", "123 or 4567"],
  ["1234567", "123    4567"],
  ["1234567", "123 45 68"],
  ["1234", "12 34"],
  ["pay the rent", "paytherent"],
  ["2026", "20 26"],
])("another number, or a text that is not a number, stays: %s", (hidden, said) => {
  expect(withoutTexts(said, [hidden])).toBe(said);
});

test("a redacted number is found with any grouping", () => {
  const digits = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 6, maxLength: 20 });
  const between = fc.array(fc.constantFrom("", " ", "-", ") ", "\u2011", "\u200b", " – "), {
    minLength: 20,
    maxLength: 20,
  });
  fc.assert(
    fc.property(digits, between, between, (number, one, other) => {
      const grouped = (gaps: readonly string[]) =>
        number.map((digit, i) => `${i === 0 ? "" : gaps[i]}${digit}`).join("");
      expect(withoutTexts(`to ${grouped(other)}, today`, [grouped(one)])).toBe("to [redacted], today");
    }),
  );
});

test("numbers with other grouping are searched in a long text at once", () => {
  const cards = Array.from({ length: 20_000 }, (_, i) => `4111-${String(i).padStart(8, "0")}`);
  const long = "4111 0000 x. ".repeat(40_000);
  expect(withoutTexts(long, cards)).toBe(long);
});
