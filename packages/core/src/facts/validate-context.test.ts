import { readFileSync } from "node:fs";
import { type FactField, type FactType, factCategories, factCategoryNames, limits } from "@countersign/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { instantOf } from "../functions/dates.ts";
import { parseTimestampUs } from "../time.ts";
import { contextErrors, normalizeContext, validateContext } from "./validate-context.ts";

const now_us = parseTimestampUs("2026-11-21T12:00:00Z") as number;
const errorsOf = (document: unknown) => validateContext(document, now_us).errors;
const codesOf = (document: unknown) => errorsOf(document).map((problem) => `${problem.path} ${problem.code}`);
const withFacts = (facts: unknown) => ({ contract_version: "1", facts });
const parsed = (json: string): unknown => JSON.parse(json);

interface Example {
  readonly document: unknown;
  readonly valid: boolean;
  readonly why: string;
}
const examplesFile = new URL("../../../../test/data/context-documents.json", import.meta.url);
const examples = JSON.parse(readFileSync(examplesFile, "utf8")) as Example[];

describe("the acceptance examples", () => {
  it.each(examples.map((example, index) => ({ ...example, index })))("$index: $why", ({ document, valid }) => {
    expect(errorsOf(document).length === 0).toBe(valid);
  });
});

const values: Record<FactType, unknown> = {
  string: "text",
  number: 12.5,
  integer: 12,
  boolean: true,
  object: { k: 1 },
  array: ["x"],
};
const allTypes = Object.keys(values) as FactType[];

describe("every listed fact", () => {
  const rows = factCategoryNames.flatMap((category) =>
    factCategories[category].fields.map((field: FactField) => ({ category, name: field.name, field })),
  );

  it("is one of 85", () => {
    expect(rows).toHaveLength(85);
  });

  it.each(rows)("$category.$name takes null, its own types, and nothing else", ({ category, field }) => {
    const path = `/facts/${category}/${field.name}`;
    expect(errorsOf(withFacts({ [category]: { [field.name]: null } }))).toEqual([]);
    for (const type of allTypes) {
      const takes = field.types.includes(type) || (type === "integer" && field.types.includes("number"));
      const codes = codesOf(withFacts({ [category]: { [field.name]: values[type] } }));
      if (!takes) expect(codes).toEqual([`${path} wrong_type`]);
      else if (field.constraint === undefined || type === "integer") expect(codes).toEqual([]);
      else expect(codes, `"text" does not satisfy ${field.constraint.kind}`).toHaveLength(1);
    }
  });
});

describe("values with special rules", () => {
  const fact = (category: string, name: string, value: unknown) =>
    codesOf(withFacts({ [category]: { [name]: value } }));

  it.each([0, 8, 23, 5.0])("hour %d is taken", (hour) => {
    expect(fact("environmental", "recipient_local_hour", hour)).toEqual([]);
  });
  it.each([-1, 24, 100])("hour %d is out of range", (hour) => {
    expect(fact("environmental", "recipient_local_hour", hour)).toEqual([
      "/facts/environmental/recipient_local_hour out_of_range",
    ]);
  });
  it.each(["CA", "ca", "Ny", "dc", "PR"])("state %s is taken", (state) => {
    for (const category of ["environmental", "regulatory"])
      expect(fact(category, "recipient_state", state)).toEqual([]);
  });
  it.each(["ZZ", "California", "", "C", "CAL", " CA", "CA ", "ıA", "US"])("state %j is not a state", (state) => {
    expect(fact("regulatory", "recipient_state", state)).toEqual(["/facts/regulatory/recipient_state not_allowed"]);
  });
  it.each([
    ...["2026-01-31", "2028-02-29", "2026-01-31T10:00:00Z", "2026-01-31T10:00:00.5-05:00"],
    ...["2026-01-31T10:00Z", "2026-01-31T10:00:00+0530", "2026-01-31T10:00-08"],
  ])("scrub date %s is taken", (date) => {
    expect(fact("regulatory", "dnc_last_scrub_date", date)).toEqual([]);
    expect(instantOf(date)).toBeDefined();
  });
  it.each(["2026-02-30", "2026-02-29", "2026-13-01", "31.01.2026", "2026-1-31", "yesterday", "", "2026-01-31 "])(
    "scrub date %j is refused",
    (date) => {
      expect(fact("regulatory", "dnc_last_scrub_date", date)).toEqual([
        "/facts/regulatory/dnc_last_scrub_date bad_format",
      ]);
    },
  );
  it.each(["compliant", "non_compliant"])("segmentation %s is taken", (value) => {
    expect(fact("organizational", "pci_network_segmentation", value)).toEqual([]);
  });
  it.each(["Compliant", "", "noncompliant", "constructor"])("segmentation %j is refused", (value) => {
    expect(fact("organizational", "pci_network_segmentation", value)).toEqual([
      "/facts/organizational/pci_network_segmentation not_allowed",
    ]);
  });
  it("refuses a number that JSON cannot represent", () => {
    const document = parsed('{"contract_version":"1","facts":{"entity_state":{"account_balance_usd":1e400}}}');
    expect(codesOf(document)).toEqual(["/facts/entity_state/account_balance_usd wrong_type"]);
  });
});

describe("keys", () => {
  it.each(["constructor", "valueof", "tostring", "hasownproperty", "then", "length", "a", "z9_", `a${"b".repeat(63)}`])(
    "%s is a key like any other, with any value",
    (key) => {
      for (const value of [null, 1, "x", true, [], {}, [[{}]]]) {
        expect(errorsOf(withFacts({ security: { [key]: value } }))).toEqual([]);
      }
    },
  );
  it("a fact listed in one category may have any type in others", () => {
    expect(errorsOf(withFacts({ security: { recipient_local_hour: "noon" } }))).toEqual([]);
  });
  it.each(["", "A", "9a", "_a", "a-b", "a.b", "a b", "a\n", "é", `a${"b".repeat(64)}`])("%j is refused", (key) => {
    expect(errorsOf(withFacts({ security: { [key]: 1 } })).map((problem) => problem.code)).toEqual(["bad_key"]);
  });
  it("an own key __proto__ is refused at every level and changes nothing", () => {
    const document = parsed(
      '{"__proto__":1,"contract_version":"1","facts":{"__proto__":{},"security":{"__proto__":1}}}',
    );
    expect(codesOf(document)).toEqual([
      "/__proto__ unknown_field",
      "/facts/__proto__ unknown_field",
      "/facts/security/__proto__ bad_key",
    ]);
  });
  it("an inherited field is not a field", () => {
    expect(codesOf(Object.create({ contract_version: "1", facts: {} }))).toEqual([
      "/contract_version required",
      "/facts required",
    ]);
  });
  it("200 keys are the limit", () => {
    const keys = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index]));
    expect(errorsOf(withFacts({ identity: keys(200) }))).toEqual([]);
    expect(codesOf(withFacts({ identity: keys(201) }))).toEqual(["/facts/identity too_many_keys"]);
  });
  it("pointers are escaped, and a key of a megabyte is truncated", () => {
    expect(codesOf(withFacts({ security: { "a/b~c": 1 } }))).toEqual(["/facts/security/a~1b~0c bad_key"]);
    expect(errorsOf(withFacts({ security: { ["x".repeat(1_000_000)]: 1 } }))[0]?.path.length).toBeLessThan(200);
  });
});

describe("as_of", () => {
  const asOf = (time: unknown) => codesOf({ ...withFacts({}), as_of: { security: time } });

  it.each([
    ...["2026-11-21T12:00:00Z", "2026-11-21T12:05:00Z", "2026-11-21T17:35:00+05:30", "1999-12-31T23:59:60Z"],
    ...["2026-11-21T12:05Z", "2026-11-21T17:35:00+0530", "2026-11-21T13:05+01"],
  ])("%s is taken", (time) => {
    expect(asOf(time)).toEqual([]);
  });
  it.each(["2026-11-21T12:05:00.000001Z", "2026-11-21T12:06Z", "2027-01-01T00:00:00Z"])(
    "%s is too far ahead",
    (time) => {
      expect(asOf(time)).toEqual(["/as_of/security in_the_future"]);
    },
  );
  it.each([
    "2026-11-21T12:00:00",
    "2026-11-21",
    "2026-02-30T00:00:00Z",
    "2026-11-21T24:00:00Z",
    "2026-11-21T12:00:00+24:00",
    "2026-11-21T11:59:60Z",
    "now",
    "",
  ])("%j is refused", (time) => {
    expect(asOf(time)).toEqual(["/as_of/security bad_format"]);
  });
  it.each([null, 0, true, {}, ["2026-11-21T12:00:00Z"]])("%j is not a text", (time) => {
    expect(asOf(time)).toEqual(["/as_of/security wrong_type"]);
  });
  it("knows the six categories only", () => {
    expect(codesOf({ ...withFacts({}), as_of: { finance: "2026-11-21T12:00:00Z" } })).toEqual([
      "/as_of/finance unknown_field",
    ]);
    expect(codesOf({ ...withFacts({}), as_of: [] })).toEqual(["/as_of wrong_type"]);
  });
});

describe("findings", () => {
  it("come all at once", () => {
    const document = {
      contract_version: 1,
      facts: { money: {}, security: { siem_ref: 1, X: 1 } },
      as_of: { identity: 3 },
      extra: 1,
    };
    expect(codesOf(document)).toEqual([
      "/extra unknown_field",
      "/contract_version wrong_type",
      "/facts/money unknown_field",
      "/facts/security/siem_ref wrong_type",
      "/facts/security/X bad_key",
      "/as_of/identity wrong_type",
    ]);
  });
  it("stop at 50", () => {
    const bad = Object.fromEntries(Array.from({ length: 190 }, (_, index) => [`K${index}`, 1]));
    const document = withFacts({ security: bad, identity: bad, money: 1, mony: 1 });
    expect(errorsOf(document)).toHaveLength(limits.error_details_max);
  });
  it("never throw, and are the same for the same document", () => {
    const almost = fc.record(
      { contract_version: fc.oneof(fc.constant("1"), fc.jsonValue()), facts: fc.jsonValue(), as_of: fc.jsonValue() },
      { requiredKeys: [] },
    );
    const facts = fc.dictionary(fc.constantFrom(...factCategoryNames, "x"), fc.dictionary(fc.string(), fc.jsonValue()));
    const document = fc.oneof(fc.jsonValue(), almost, facts.map(withFacts));
    fc.assert(
      fc.property(document, (value) => {
        const errors = contextErrors(value, now_us);
        expect(errors.length).toBeLessThanOrEqual(limits.error_details_max);
        expect(contextErrors(structuredClone(value), now_us)).toEqual(errors);
      }),
    );
  });
});

describe("warnings", () => {
  const warningsOf = (document: unknown) =>
    validateContext(document, now_us).warnings.map((warning) => `${warning.path} ${warning.code}`);

  it("report stale categories, times without facts, and misspelled or misplaced keys", () => {
    const document = {
      ...withFacts({
        security: { promt_injection_detected: true, tls_version: "1.3", own_fact: 1, siem_ref: "x" },
        identity: {},
      }),
      as_of: { security: "2026-11-21T11:54Z", identity: "2026-11-21T11:54:00Z", regulatory: "2026-11-21T12:00:00Z" },
    };
    expect(errorsOf(document)).toEqual([]);
    expect(warningsOf(document)).toEqual([
      "/as_of/regulatory unlisted_category_time",
      "/as_of/security stale",
      "/facts/security/promt_injection_detected similar_key",
      "/facts/security/tls_version other_category",
    ]);
  });
  it("are left out of a document that has errors", () => {
    expect(warningsOf({ ...withFacts({ security: { tls_version: 1, X: 1 } }) })).toEqual([]);
  });
});

describe("normalizeContext", () => {
  it("writes states in upper case without changing its input", () => {
    const document = withFacts({
      regulatory: { recipient_state: "ca", tcpa: {} },
      environmental: { recipient_state: "NY" },
    });
    const before = structuredClone(document);
    const kept = normalizeContext(document as never);
    expect(kept).toEqual(
      withFacts({ regulatory: { recipient_state: "CA", tcpa: {} }, environmental: { recipient_state: "NY" } }),
    );
    expect(document).toEqual(before);
  });
  it("returns the same object if there is nothing to change", () => {
    const document = { contract_version: "1", facts: { environmental: { recipient_state: null } } };
    expect(normalizeContext(document)).toBe(document);
  });
});
