import { assuranceNames, factCategoryNames } from "@countersign/contract";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type ContextSource, mergeFacts } from "./merge.ts";
import { factsOf, factsText } from "./stored-facts.ts";

const values = fc.dictionary(
  fc.constantFrom("risk", "status", "limit_usd", "__proto__"),
  fc.oneof(fc.integer(), fc.constant(null), fc.string()),
);
const document = fc
  .dictionary(fc.constantFrom(...factCategoryNames), values)
  .map((facts) => ({ contract_version: "1", facts }));
const source: fc.Arbitrary<ContextSource> = fc.record({
  source: fc.constantFrom("inline", "org", "agent", "target", "pulled"),
  received_us: fc.integer({ min: 1, max: 3 }),
  document,
  inexact: fc.option(fc.constant({ identity: ["risk"] }), { nil: undefined }),
  assurance: fc.option(fc.constantFrom(...assuranceNames), { nil: undefined }),
  respelled: fc.boolean(),
}) as fc.Arbitrary<ContextSource>;

test("stored facts are read back unchanged", () => {
  fc.assert(
    fc.property(
      fc.array(source, { maxLength: 4 }),
      fc.constantFrom(null, "source_timeout" as const),
      (sources, not_pulled) => {
        const facts = mergeFacts(sources, not_pulled);
        expect(factsOf(JSON.parse(factsText(facts)))).toEqual(facts);
      },
    ),
  );
});

test("an origin is stored once", () => {
  const one = { source: "inline", received_us: 5, document: { facts: { identity: { a: 1 }, security: { b: true } } } };
  expect(factsText(mergeFacts([one as unknown as ContextSource]))).toBe(
    '{"origins":[{"source":"inline","as_of_us":5}],"identity":{"values":{"a":1}},"security":{"values":{"b":true}}}',
  );
});

test.each([null, 7, [], {}, { origins: {} }, { origins: [], identity: { values: {} } }])(
  "%j is no document of facts",
  (stored) => {
    expect(factsOf(stored)).toBeNull();
  },
);
