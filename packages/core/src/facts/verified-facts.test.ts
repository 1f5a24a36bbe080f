import { verifiedFacts } from "@countersign/contract";
import { expect, test } from "vitest";
import { factsOfNow } from "./facts-of-now.ts";
import { assuranceOf, type ContextSource, type FactSource, mergeFacts, originOf } from "./merge.ts";
import { rawView } from "./staleness.ts";
import { factsOf, factsText } from "./stored-facts.ts";

const of = (
  source: FactSource,
  identity: Readonly<Record<string, unknown>>,
  more: Pick<ContextSource, "unproved"> = {},
): ContextSource => ({
  source,
  received_us: 1,
  document: { facts: { identity } },
  ...more,
});
const others = [
  of("pulled", { authenticated_agent_id: "pulled", account_status: "active" }),
  of("org", { authenticated_agent_id: "stored" }),
  of("inline", { authenticated_agent_id: "inline", clearance_status: "cleared" }),
];
const unproved = of("token", {}, { unproved: { identity: verifiedFacts } });
const seen = (facts: ReturnType<typeof mergeFacts>) => rawView(facts, (_, reason) => `unknown: ${reason}`).identity;

test("facts proved by a token win over every other source", () => {
  const facts = mergeFacts([...others, of("token", { authenticated_agent_id: "proved" })]);
  expect(seen(facts)).toEqual({
    authenticated_agent_id: "proved",
    account_status: "active",
    clearance_status: "cleared",
  });
  expect(assuranceOf(originOf(facts, "identity", "authenticated_agent_id") ?? { source: "inline" })).toBe("verified");
});

test("facts not proved by a token are unknown, even if other sources give them", () => {
  expect(seen(mergeFacts([...others, unproved]))).toEqual({
    account_status: "active",
    clearance_status: "cleared",
    ...Object.fromEntries(verifiedFacts.map((name) => [name, "unknown: untrusted_token"])),
  });
});

test("an inexact number stays unknown unless the token gives the fact", () => {
  const pulled = of("pulled", { delegation_limit_usd: null, authenticated_agent_id: null });
  const inexact = { identity: ["delegation_limit_usd", "authenticated_agent_id"] };
  const token = of("token", { authenticated_agent_id: "proved" });
  const facts = mergeFacts([of("inline", { delegation_limit_usd: 9 }), { ...pulled, inexact }, token]);
  expect(seen(facts)).toEqual({ authenticated_agent_id: "proved", delegation_limit_usd: "unknown: inexact" });
});

test.each([
  ["proved", of("token", { authenticated_agent_id: "proved" })],
  ["unproved", unproved],
])("%s facts are stored unchanged, and stay when the action is decided again", (_, token) => {
  const facts = mergeFacts([...others, token]);
  expect(factsOf(JSON.parse(factsText(facts)))).toEqual(facts);
  const now = factsOfNow(facts, 5, [of("org", { authenticated_agent_id: "stored later" })], 9);
  expect(seen(now)).toEqual(seen(facts));
});
