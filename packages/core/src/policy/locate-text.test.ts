import { expect, test } from "vitest";
import { locateText } from "./locate-text.ts";

test.each([
  ["kind: Policy\n---\nkind: Policy\n", 2, "A second document begins here.", /^Write each policy/],
  ["kind: Policy\n---\n", 2, "A second document begins here.", /^Write each policy/],
  ['kind: "Policy\n', 2, 'Missing closing "quote.', /^The document must be one YAML or JSON document\.$/],
  ['when: "x" in y\n', 1, "Unexpected scalar at node end.", /single quotes/],
])("%j is reported in full sentences", (text, line, message, help) => {
  const [first] = locateText(text).diagnostics;
  expect(first).toMatchObject({ code: "syntax", line, message, help: expect.stringMatching(help) });
});

test.each(["12345678901234567891", "-9007199254740993", "+4503599627370497.75", "1.2345678901234567891e+21", "1e-400"])(
  "the number %s is refused, because it would be rounded",
  (number) => {
    const message = "This number has too many digits to be stored exactly.";
    const finding = { path: "/a/0", line: 2, column: 5, code: "syntax", message, help: "Write it as a text." };
    expect(locateText(`a:\n  - ${number}\n`).diagnostics).toMatchObject([finding]);
    expect(locateText(`\n{"a": ${number.replace("+", "")}}`).diagnostics).toMatchObject([{ message, line: 2 }]);
    expect(locateText(`"${number}"`)).toMatchObject({ value: number, diagnostics: [] });
  },
);

test.each([
  ...["0", "-0.0", "+1.50", ".5", "-.5", "5.", "+12e03", "1E+2", "1e21", "9007199254740991", "123456789012345680000"],
  ...["0xff", "0o17"],
])("the number %s is read exactly", (number) => {
  expect(locateText(number)).toMatchObject({ value: Number(number), diagnostics: [] });
});
