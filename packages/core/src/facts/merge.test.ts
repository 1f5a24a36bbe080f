import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  assuranceOf,
  type ContextSource,
  factSources,
  listFacts,
  mergeFacts,
  originOf,
  withoutValues,
} from "./merge.ts";
import { rawView } from "./staleness.ts";

const at = (
  source: ContextSource["source"],
  received_us: number,
  facts: object,
  as_of: object = {},
): ContextSource => ({
  source,
  received_us,
  document: { facts, as_of },
});

describe("merging", () => {
  test("a token wins over pulled, pulled over target, target over agent, agent over org, org over inline", () => {
    const sources = factSources.map((source) => at(source, 1, { security: { siem_ref: source } }));
    for (let first = 0; first < sources.length; first += 1) {
      const merged = mergeFacts(sources.slice(first).reverse());
      expect(merged.security?.values["siem_ref"]).toBe(factSources[first]);
      expect(originOf(merged, "security", "siem_ref")?.source).toBe(factSources[first]);
    }
  });

  test("an inline fact never replaces a stored one, even if newer", () => {
    const merged = mergeFacts([
      at("inline", 9_000_000, { identity: { account_status: "active", clearance_status: "cleared" } }),
      at("org", 1, { identity: { account_status: "suspended" } }),
    ]);
    expect(listFacts(merged)).toEqual([
      { path: "identity.account_status", value: "suspended", source: "org", as_of_us: 1 },
      { path: "identity.clearance_status", value: "cleared", source: "inline", as_of_us: 9_000_000 },
    ]);
  });

  test("a null hides nothing and is not listed", () => {
    const merged = mergeFacts([
      at("pulled", 1, { security: { siem_ref: null } }),
      at("inline", 2, { security: { siem_ref: "siem-1" } }),
    ]);
    expect(listFacts(merged)).toEqual([{ path: "security.siem_ref", value: "siem-1", source: "inline", as_of_us: 2 }]);
    expect(
      originOf(mergeFacts([at("inline", 1, { security: { siem_ref: null } })]), "security", "siem_ref"),
    ).toBeNull();
  });

  test("no other source replaces an inexact fact, unlike a null", () => {
    const pulled = at("pulled", 1, { entity_state: { account_balance_usd: null, account_status: null } });
    const merged = mergeFacts([
      { ...pulled, inexact: { entity_state: ["account_balance_usd"] } },
      at("org", 2, { entity_state: { account_balance_usd: 5, account_status: "active" } }),
    ]);
    expect(merged.entity_state).toMatchObject({ inexact: ["account_balance_usd"] });
    expect(listFacts(merged).map(({ path }) => path)).toEqual(["entity_state.account_status"]);
  });

  test("a category without as_of uses the time of receipt", () => {
    const merged = mergeFacts([
      at(
        "inline",
        7,
        { security: { siem_ref: "a" }, identity: { account_status: "b" } },
        { identity: "1970-01-01T00:01Z" },
      ),
    ]);
    expect(originOf(merged, "security", "siem_ref")?.as_of_us).toBe(7);
    expect(originOf(merged, "identity", "account_status")?.as_of_us).toBe(60_000_000);
  });

  test("the container regulatory.tcpa provides flat facts, and a less trusted flat fact does not replace them", () => {
    const merged = mergeFacts([
      at("org", 1, {
        regulatory: { tcpa: { internal_dnc_listed: true, recipient_state: "TX" }, recipient_state: "FL" },
      }),
      at("inline", 2, { regulatory: { internal_dnc_listed: false } }),
    ]);
    expect(merged.regulatory?.values).toMatchObject({ internal_dnc_listed: true, recipient_state: "FL" });
    expect(originOf(merged, "regulatory", "internal_dnc_listed")?.source).toBe("org");
  });

  test("one source is not copied", () => {
    const values = { siem_ref: "a" };
    expect(mergeFacts([at("inline", 1, { security: values })]).security?.values).toBe(values);
  });

  test("names of Object.prototype are ordinary fact names", () => {
    const merged = mergeFacts([
      at("org", 1, { security: { siem_ref: "a" } }),
      at("inline", 2, { security: JSON.parse('{"constructor": 5, "valueof": 6}') }),
    ]);
    expect(listFacts(merged).map((fact) => [fact.path, fact.value])).toEqual([
      ["security.constructor", 5],
      ["security.siem_ref", "a"],
      ["security.valueof", 6],
    ]);
    expect(originOf(merged, "security", "tostring")).toBeNull();
    expect(originOf(merged, "security", "constructor")?.source).toBe("inline");
  });

  test("the order of the sources never matters", () => {
    const source = fc.record({
      source: fc.constantFrom(...factSources),
      received_us: fc.nat(),
      document: fc.record({
        facts: fc.record({ security: fc.dictionary(fc.constantFrom("a", "b", "c"), fc.option(fc.nat())) }),
      }),
    });
    const distinct = fc.uniqueArray(source, { selector: (item) => `${item.source}${item.received_us}` });
    fc.assert(
      fc.property(
        distinct.chain((sources) =>
          fc.tuple(fc.constant(sources), fc.shuffledSubarray(sources, { minLength: sources.length })),
        ),
        ([sources, shuffled]) => {
          expect(listFacts(mergeFacts(shuffled))).toEqual(listFacts(mergeFacts(sources)));
        },
      ),
    );
  });
});

describe("assurance", () => {
  test("is the source's default, or the one given with an inline document", () => {
    const by_source = factSources.map((source) => assuranceOf({ source }));
    expect(by_source).toEqual(["verified", "pulled", "stored", "stored", "stored", "reported"]);
    const merged = mergeFacts([
      { ...at("inline", 2, { security: { siem_ref: "a", other: "b" } }), assurance: "attested" },
      at("org", 1, { security: { siem_ref: "c" } }),
    ]);
    const listed = listFacts(merged).map(({ path, value, ...origin }) => [path, value, assuranceOf(origin)]);
    expect(listed).toEqual([
      ["security.other", "b", "attested"],
      ["security.siem_ref", "c", "stored"],
    ]);
    // Default assurances are not stored.
    expect(mergeFacts([{ ...at("inline", 2, { security: {} }), assurance: "reported" }]).security?.origin).toEqual({
      source: "inline",
      as_of_us: 2,
    });
  });

  test("facts for another spelling of an id replace none, in any order", () => {
    const respelled = { ...at("agent", 3, { identity: { account_status: "active" } }), respelled: true };
    const own = at("org", 1, { identity: { account_status: "suspended" } });
    for (const sources of [
      [respelled, own],
      [own, respelled],
    ]) {
      const merged = mergeFacts(sources);
      expect(merged.identity?.values).toEqual({ account_status: "suspended" });
      expect(merged.respelled).toEqual({ identity: { account_status: "active" } });
    }
  });

  test("callers who only submit see no stored, pulled or respelled value", () => {
    const merged = mergeFacts([
      at("org", 1, { identity: { account_status: "suspended" } }),
      { ...at("agent", 1, { security: { siem_ref: "s" } }), respelled: true },
      at("inline", 2, { identity: { clearance_status: "c" } }),
    ]);
    const seen = rawView(withoutValues(merged), (path, reason) => `${reason} ${path}`);
    expect(seen.identity).toEqual({ account_status: "not_shown facts.identity.account_status", clearance_status: "c" });
    expect(seen.security).toEqual({ siem_ref: "not_shown facts.security.siem_ref" });
    expect(withoutValues(merged).respelled).toBeUndefined();
    const inline = mergeFacts([at("inline", 2, { identity: { clearance_status: "c" } })]);
    expect(withoutValues(inline)).toBe(inline);
  });
});
