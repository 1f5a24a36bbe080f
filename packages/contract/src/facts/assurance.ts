/** Assurance of facts: who vouches for a fact. See docs/decisions/0040. */
import { type FactCategoryName, fact_key_pattern, factCategoryNames } from "./index.ts";

/** The assurances, lowest first, with their meanings. A higher one satisfies a lower requirement. */
export const assuranceMeanings = {
  reported: "sent with the action by a key of role `agent`",
  attested: "sent with the action by any other key or person, such as a key of role `host`",
  stored: "stored by an operator before the action, for the organization, the agent or the target",
  pulled: "from your context source, which the service asks for each action",
  verified: "from a token that the service checked",
} as const;

/** An assurance. */
export type Assurance = keyof typeof assuranceMeanings;

/** The assurances, lowest first. */
export const assuranceNames = Object.keys(assuranceMeanings) as Assurance[];

/** The rank of each assurance; the lowest has 0. */
export const assuranceRank = Object.fromEntries(assuranceNames.map((name, rank) => [name, rank])) as Readonly<
  Record<Assurance, number>
>;

/** The lowest assurance that counts, by category (`identity`) or by fact (`entity_state.account_balance_usd`). */
export type FactsFrom = Readonly<Record<string, Assurance>>;

/** A category, or one of its facts. */
export const facts_from_pattern: string = `^(${factCategoryNames.join("|")})(\\.${fact_key_pattern.slice(1, -1)})?$`;

/** `facts_from` of new membranes, unless their creator sets another value. */
export const factsFromDefault = {
  identity: "attested",
  "organizational.delegation_limit_usd": "attested",
} as const satisfies FactsFrom & { readonly [category in FactCategoryName]?: Assurance };

/** The reason of a fact whose assurance is lower than a membrane or policy requires. */
export const untrusted_source = "untrusted_source";

/** The reason of a fact that only a trusted token may give, when the request has none. */
export const untrusted_token = "untrusted_token";

/** The reason of a fact that is stored for another spelling of the agent or target. */
export const other_spelling = "other_spelling";

/** The reason of a stored or pulled fact in a trial by a key of role `agent`, because such keys do not see these values. */
export const not_shown = "not_shown";
