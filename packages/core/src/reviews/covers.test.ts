import { describe, expect, test } from "vitest";
import { covers, type Stakes } from "./covers.ts";

const approved: Stakes = {
  agent: { id: "payer", on_behalf_of: "ann" },
  estimated_impact: {
    reversible: true,
    financial_exposure_usd: 2_000,
    audience_size: 10,
    regulatory_domains: ["sox", "gdpr"],
  },
  data_classes: ["personal", "financial"],
};
const impact = (change: Stakes["estimated_impact"]): Stakes => ({
  ...approved,
  estimated_impact: { ...approved.estimated_impact, ...change },
});

describe("an approval covers", () => {
  test.each<[string, Stakes]>([
    ["the same action", approved],
    ["less exposure", impact({ financial_exposure_usd: 1_999.99 })],
    ["a smaller audience", impact({ audience_size: 0 })],
    ["fewer regulatory domains", impact({ regulatory_domains: ["gdpr"] })],
    ["fewer data classes, in any order", { ...approved, data_classes: ["financial"] }],
    ["no data classes", { ...approved, data_classes: [] }],
    ["other members of the agent", { ...approved, agent: { id: "payer", on_behalf_of: "ann", session_id: "s2" } }],
  ])("%s", (_, equal) => {
    expect(covers(approved, equal)).toBe(true);
  });

  test("an equal action if neither declares an impact", () => {
    expect(covers({ agent: { id: "a" } }, { agent: { id: "a" } })).toBe(true);
  });

  test("a reversible action if nobody said whether the approved one is", () => {
    expect(covers({ agent: { id: "a" } }, { agent: { id: "a" }, estimated_impact: { reversible: true } })).toBe(true);
  });
});

describe("an approval does not cover", () => {
  test.each<[string, Stakes]>([
    ["more exposure", impact({ financial_exposure_usd: 1e9 })],
    ["an exposure that is no longer declared", { ...approved, estimated_impact: {} }],
    ["a larger audience", impact({ audience_size: 11 })],
    ["an action that cannot be undone", impact({ reversible: false })],
    ["another regulatory domain", impact({ regulatory_domains: ["hipaa"] })],
    ["another data class", { ...approved, data_classes: ["personal", "phi"] }],
    ["another person", { ...approved, agent: { id: "payer", on_behalf_of: "bob" } }],
    ["nobody in place of a person", { ...approved, agent: { id: "payer" } }],
  ])("%s", (_, equal) => {
    expect(covers(approved, equal)).toBe(false);
  });

  test("an exposure if none was declared", () => {
    const equal = { agent: { id: "a" }, estimated_impact: { financial_exposure_usd: 1 } };
    expect(covers({ agent: { id: "a" } }, equal)).toBe(false);
  });
});
