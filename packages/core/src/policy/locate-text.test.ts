/** What is said of a text that is no YAML document. */
import { expect, test } from "vitest";
import { locateText } from "./locate-text.ts";

test.each([
  ["kind: Policy\n---\nkind: Policy\n", 2, "A second document begins here.", /^One file holds one policy/],
  ["kind: Policy\n---\n", 2, "A second document begins here.", /^One file holds one policy/],
  ['kind: "Policy\n', 2, 'Missing closing "quote.', /^The document must be one YAML or JSON document\.$/],
  ['when: "x" in y\n', 1, "Unexpected scalar at node end.", /single quotes/],
])("%j is told in whole sentences to whoever wrote it", (text, line, message, help) => {
  const [first] = locateText(text).diagnostics;
  expect(first).toMatchObject({ code: "syntax", line, message, help: expect.stringMatching(help) });
});
