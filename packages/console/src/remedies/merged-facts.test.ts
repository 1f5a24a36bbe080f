import type { StoredContext } from "@countersign/contract";
import { expect, test } from "vitest";
import { confirmedWith, type FactPlace, factPlace, factValue, mergedFacts } from "./merged-facts.ts";

const place = factPlace("facts.identity.account_status") as FactPlace;
const stored = {
  document: {
    contract_version: "1",
    facts: { identity: { clearance_verified: true, account_status: "suspended" }, security: { known: 1 } },
    as_of: { identity: "2026-01-01T00:00:00Z" },
  },
  received_at: "2026-01-02T00:00:00Z",
} as unknown as StoredContext;

test("a fact is added to the stored ones, and only its category gets a new time", () => {
  expect(mergedFacts(stored, place, "active", "2026-02-02T00:00:00Z")).toEqual({
    contract_version: "1",
    facts: { identity: { clearance_verified: true, account_status: "active" }, security: { known: 1 } },
    as_of: { identity: "2026-02-02T00:00:00Z", security: "2026-01-02T00:00:00Z" },
  });
  expect(confirmedWith(stored, place)).toEqual([["clearance_verified", true]]);
});

test("without stored facts the document has the new one only", () => {
  expect(mergedFacts(null, place, "active", "2026-02-02T00:00:00Z")).toEqual({
    contract_version: "1",
    facts: { identity: { account_status: "active" } },
    as_of: { identity: "2026-02-02T00:00:00Z" },
  });
});

test("a path without a category has no place", () => {
  expect([factPlace("facts.unknown.thing"), factPlace("facts.identity")]).toEqual([null, null]);
});

test.each([
  ["active", ["string"], "active"],
  ["12", ["string"], "12"],
  ["12", ["number"], 12],
  ["12.5", ["integer"], undefined],
  ["3", ["integer"], 3],
  ["twelve", ["number"], undefined],
  ["true", ["boolean"], true],
  ['["a"]', ["array"], ["a"]],
  ["{}", ["array"], undefined],
  ["null", ["object"], undefined],
  ["gold", undefined, "gold"],
  ["7", undefined, 7],
  [" ", undefined, undefined],
] as const)("the text %j is read as %j: %j", (text, types, value) => {
  expect(factValue(text, types)).toEqual(value);
});
