import { Unknown, unknown } from "@countersign/cel";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { documented } from "../../src/functions/documented.ts";
import { flagged } from "../../src/functions/flagged.ts";
import { entries, intersect, listed, subset } from "../../src/functions/subset.ts";
import { tls } from "../../src/functions/tls.ts";
import { transferOk } from "../../src/functions/transfer.ts";

describe("documented", () => {
  test.each([
    true,
    "LIA-2026-014",
    "No. 4711",
    "No downtime: CHG-12",
    "In reviewing this we found no objection",
    { ref: "LIA-9", findings: "No reason", next_review: "To be done in May 2027" },
    "notice-7 of the privacy office",
    { ref: "LIA-9", outcome: "passed" },
    { ref: "LIA-9", outcome: "approved after two findings were rejected, then mended" },
    { ref: "AUD-2", result: "no controls failed" },
    { ref: "B-1", purpose: "denied claims review" },
    "denied claims review",
    { ref: "LIA-9", reviewer: null },
    { score: 3 },
    ["name", "claim_no"],
    { parts: { purpose: "done", necessity: "done" } },
  ])("%j is evidence", (value) => {
    expect(documented(value)).toBe(true);
  });

  test.each([
    false,
    null,
    undefined,
    "",
    "   ",
    "none",
    "N/A",
    "n.a.",
    "\uff2e\uff0f\uff21",
    "\uff30\uff45\uff4e\uff44\uff49\uff4e\uff47 approval",
    "pending",
    "Pending approval",
    "DRAFT",
    "draft v2",
    "In review",
    "under review by legal",
    "WIP",
    "work in progress",
    "unsigned",
    "To be done",
    "in preparation",
    "No ticket",
    "no LIA yet",
    { ref: "LIA-9", status: "under review" },
    "expired",
    "expired 2025-01-01",
    "not started",
    "not_applicable",
    "not-yet",
    "TBD",
    "-",
    {},
    [],
    [""],
    ["none", null],
    { ref: "LIA-9", outcome: "rejected" },
    { ref: "LIA-9", outcome: "Rejected by the DPO" },
    { ref: "LIA-9", outcome: "balancing test failed" },
    { ref: "LIA-9", approval: { Status: "withdrawn on 2026-10-01" } },
    { ref: "LIA-9", "final-decision": "declined: too broad" },
    { ref: "LIA-9", decision: "declined" },
    { ref: "LIA-9", lapsed: true },
    "suspended",
    { ref: "LIA-9", approved: false },
    { ref: "LIA-9", status: "failed" },
    { ref: "LIA-9", failed: true },
    { ref: "LIA-9", Expired: true },
    { ref: "LIA-9", balancing_test: { passed: false } },
    { ref: "LIA-9", steps: [{ name: "balancing", status: "failed" }] },
    { ref: "LIA-9", steps: [[{ name: "balancing", Expired: true }]] },
    { ref: "none" },
    { ref: "" },
    0,
    1,
    4711,
    Number.NaN,
  ])("%j is not evidence", (value) => {
    expect(documented(value)).toBe(false);
  });
});

test("a failure counts at any depth, without a stack overflow", () => {
  const nested = (inner: unknown, depth: number): unknown =>
    depth === 0 ? inner : { inner: nested(inner, depth - 1) };
  let deep: unknown = { passed: false };
  for (let level = 0; level < 100_000; level += 1) deep = [deep];
  expect(documented({ ref: "LIA-9", deep })).toBe(false);
  expect(documented({ ref: "LIA-9", deep: nested({ passed: false }, 20) })).toBe(false);
  expect(documented({ ref: "LIA-9", deep: nested({ passed: true }, 20) })).toBe(true);
});

describe("tls", () => {
  test.each([
    [1.2, 1.2],
    [1.3, 1.3],
    [1, 1],
    ["1.3", 1.3],
    ["tls_1_3", 1.3],
    ["TLSv1.2", 1.2],
    ["TLS 1.2", 1.2],
    ["tls1.1", 1.1],
    ["tls12", 1.2],
    ["TLSv1", 1],
    [" tls-1.2 ", 1.2],
    ["SSLv3", 0],
    ["ssl 3.0", 0],
    [3, 0],
    ["3", 0],
    ["1.4", 0],
    ["2", 0],
    [12, 0],
    [1.25, 0],
    [Number.NaN, 0],
    ["fips_validated", 0],
    ["1.2; tls1.0", 0],
    ["", 0],
    [null, 0],
    [true, 0],
    [{}, 0],
    [["1.3"], 0],
  ])("%j is %d", (value, version) => {
    expect(tls(value)).toBe(version);
  });
});

describe("subset and its relatives", () => {
  test.each([
    [["a"], ["a", "b"], true],
    [["a", "c"], ["a", "b"], false],
    [[], [], true],
    ["a", ["a"], true],
    ["a, b", "b; a", true],
    [["name"], "name,claim_no", true],
    [["all"], ["*"], false],
    [["crm.read"], ["crm.*"], false],
    [[1], [1], true],
    [[1], ["1"], false],
    [[{}], [{}], false],
    [[null], [null], false],
    [7, ["7"], false],
    [["a"], null, false],
  ])("subset(%j, %j) is %j", (inner, outer, expected) => {
    expect(subset(inner, outer)).toBe(expected);
  });

  test.each([
    ["agent-1", "agent-1", true],
    ["agent-1", " Agent-1", true],
    ["agent-1", "bob; AGENT-1", true],
    ["agent-1", ["bob", "Agent-1 "], true],
    ["Q3, 2026", "q3, 2026", true],
    [2026, [2026], true],
    [2026, "2026", false],
    ["agent-1", "agent-10", false],
    ["", [], false],
    ["agent-1", ["bob", null], false],
    ["agent-1", [{ name: "bob" }, "agent-1"], true],
  ])("listed(%j, %j) is %j", (name, value, expected) => {
    expect(listed(name, value)).toBe(expected);
  });

  test.each([
    ["agent-1", { name: "agent-1" }],
    ["agent-1", ["bob", { name: "agent-1" }]],
    ["agent-1", [["agent-1"]]],
    [["2026-Q3"], "2026-Q3"],
    [{ name: "2026-Q3" }, "2026-Q3"],
  ])("listed(%j, %j) is unknown, since one of them cannot be read", (name, value) => {
    expect(listed(name, value)).toEqual(unknown("", "a name that is neither a text nor a number"));
  });

  test.each([
    [true, true],
    ["true", true],
    ["TRUE", true],
    ["Yes", true],
    [1, true],
    ["by the CFO", true],
    [{}, true],
    [false, false],
    ["false", false],
    ["False ", false],
    ["no", false],
    ["N/A", false],
    ["", false],
    [0, false],
  ])("flagged(%j) is %j", (value, expected) => {
    expect(flagged(value)).toBe(expected);
  });

  test("the intersection of two lists is a subset of both", () => {
    const list = fc.array(fc.constantFrom("a", "b", "c", "d"));
    fc.assert(
      fc.property(list, list, (a, b) => {
        const both = intersect(a, b);
        expect(subset(both, a) && subset(both, b)).toBe(true);
        expect(entries(both)).toEqual(both);
      }),
    );
  });
});

describe("transferOk", () => {
  test.each([
    ["DE", "", true],
    ["de", undefined, true],
    ["NO", "", true],
    ["BR", "", true],
    ["UK", "", true],
    ["JP", "none", true],
    ["US", "", false],
    ["US", "dpf", true],
    ["US", "EU-US DPF", true],
    ["IN", "dpf", false],
    ["IN", "SCCs", true],
    ["CN", "binding_corporate_rules", true],
    ["CN", "art_49_1_a", true],
    ["CN", "pending", false],
    ["CN", "we trust them", false],
    ["Germany", "", false],
    ["Atlantis", "scc", false],
    ["", "scc", false],
    [null, "scc", false],
    ["CN", null, false],
  ])("transferOk(%j, %j) is %j", (country, mechanism, expected) => {
    expect(transferOk(country, mechanism)).toBe(expected);
  });
});

test("no junk makes any of these functions throw", () => {
  fc.assert(
    fc.property(fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true }), fc.anything(), (a, b) => {
      expect(typeof documented(a)).toBe("boolean");
      expect([0, 1, 1.1, 1.2, 1.3]).toContain(tls(a));
      expect(typeof subset(a, b)).toBe("boolean");
      expect(typeof transferOk(a, b)).toBe("boolean");
      expect(Array.isArray(intersect(a, b))).toBe(true);
      const found = listed(a, b);
      expect(typeof found === "boolean" || found instanceof Unknown).toBe(true);
    }),
    { numRuns: runs(2_000) },
  );
});
