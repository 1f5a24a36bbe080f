/** Assurance of facts. See docs/decisions/0040-assurance-of-facts.md. */
import { type FactCategoryName, fact_key_pattern, factCategoryNames } from "./index.ts";

/** Assurances with their meanings, lowest first. A higher one satisfies a lower requirement. */
export const assuranceMeanings = {
  reported: "sent with the action by a key of role `agent`",
  attested: "sent with the action by any other key or person, such as a key of role `host`",
  stored: "stored by an operator before the action, for the organization, the agent or the target",
  pulled: "from your context source, which the service asks for each action",
  verified: "from a token that the service checked",
} as const;

export type Assurance = keyof typeof assuranceMeanings;

export const assuranceNames = Object.keys(assuranceMeanings) as Assurance[];

export const assuranceRank = Object.fromEntries(assuranceNames.map((name, rank) => [name, rank])) as Readonly<
  Record<Assurance, number>
>;

/** The lowest assurance that counts, by category (`identity`) or fact (`entity_state.account_balance_usd`). */
export type FactsFrom = Readonly<Record<string, Assurance>>;

export const facts_from_pattern: string = `^(${factCategoryNames.join("|")})(\\.${fact_key_pattern.slice(1, -1)})?$`;

export const factsFromDefault = {
  identity: "attested",
  "organizational.delegation_limit_usd": "attested",
} as const satisfies FactsFrom & { readonly [category in FactCategoryName]?: Assurance };

/** Reason: the fact's assurance is lower than a membrane or policy requires. */
export const untrusted_source = "untrusted_source";

/** Reason: only a trusted token may give the fact, and the request has none. */
export const untrusted_token = "untrusted_token";

/** Reason: the fact is stored for another spelling of the agent or target. */
export const other_spelling = "other_spelling";

/** Reason in trials by a key of role `agent`, which must not see stored or pulled values. */
export const not_shown = "not_shown";
