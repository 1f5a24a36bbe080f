import fc from "fast-check";
import { expect, test } from "vitest";
import { foldName, name_pattern, nameProblem } from "./names.ts";

test.each([
  ["Send_Money", "send_money"],
  ["\uff33\uff45nd_money", "send_money"],
  ["\u017fend", "SEND"],
  ["Stra\u00dfe", "STRASSE"],
  ["\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c2"],
  ["\ufb01le", "FILE"],
  ["caf\u00e9", "CAFE\u0301"],
  ["a\u00a0b", "A b"],
])("%j and %j are one name", (a, b) => expect(foldName(a)).toBe(foldName(b)));

test.each([
  ["send_money", "send-money"],
  ["sendMoney", "send_money"],
  ["m\u043eney", "money"],
])("%j and %j are two names", (a, b) => expect(foldName(a)).not.toBe(foldName(b)));

test("a folded name stays as it is, and a prefix of whole letters is one of the folded name", () => {
  const letter = fc.constantFrom(..."aZ_ßΣσςſKİé金😀ﬁ");
  fc.assert(
    fc.property(fc.array(letter), fc.array(letter), (begin, more) => {
      const folded = foldName([...begin, ...more].join(""));
      expect(foldName(folded)).toBe(folded);
      expect(folded.startsWith(foldName(begin.join("")))).toBe(true);
    }),
  );
});

test.each([
  ..."\0\t\n\r\u007f\u0085\u00ad\u034f\u061c\u115f\u1160\u17b4\u180b\u180e\u200b\u200d\u200e\u2028\u2029\u202e\u2060\u2066\u3164",
  ..."\ufe0f\ufeff\uffa0",
  "\u{e0001}",
  "\u{e0041}",
  "\u{e0100}",
])("%j in a name is reported", (char) => {
  const told = `U+${char.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`;
  for (const name of [`send${char}money`, `${char}a`, `a${char}`]) expect(nameProblem(name)).toContain(told);
});

test.each([..." \u00a0\u1680\u2003\u2800\u3000"])("%j is reported around a name, and allowed within one", (char) => {
  expect(nameProblem(`send${char}money`)).toBeNull();
  for (const name of [`${char}a`, `a${char}`, char])
    expect(nameProblem(name)).toMatch(/^Remove the white space U\+\w{4} /);
});

test.each(["send_money", "Überweisung 7", "送金 実行", "پرداخت", "bank.pay:v2/übung", "💸", "e\u0301"])(
  "%s is a name",
  (name) => expect(nameProblem(name)).toBeNull(),
);

test("the pattern of schemas and the advice agree on each text", () => {
  const pattern = new RegExp(name_pattern, "u");
  const text = fc.array(fc.constantFrom(..." \u00a0\u2800\u200b\ufe0f\nab金", "\u{e0001}"), { maxLength: 5 });
  fc.assert(
    fc.property(text, (chars) => {
      const name = chars.join("");
      expect(pattern.test(name)).toBe(nameProblem(name) === null);
    }),
  );
});
