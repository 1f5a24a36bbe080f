/** Assurance of facts: how sure it is that a fact is true, by the way it came. See docs/decisions/0040. */
import { type FactCategoryName, fact_key_pattern, factCategoryNames } from "./index.ts";

/** The assurances, least first, with their meaning. Each one counts where a lower one is asked for. */
export const assuranceMeanings = {
  reported: "sent with the action by a key of role `agent`",
  attested: "sent with the action by any other key or person, such as a key of role `host`",
  stored: "stored before the action by an operator, for the organization, the agent or the target",
  pulled: "from your context source, which is asked for each action",
  verified: "from a token that the service checked",
} as const;

/** How sure a fact is. */
export type Assurance = keyof typeof assuranceMeanings;

/** The names, least first. */
export const assuranceNames = Object.keys(assuranceMeanings) as Assurance[];

/** The place of each name in that order. */
export const assuranceRank = Object.fromEntries(assuranceNames.map((name, rank) => [name, rank])) as Readonly<
  Record<Assurance, number>
>;

/** The least assurance that counts, by category (`identity`) or by single fact (`entity_state.account_balance_usd`). */
export type FactsFrom = Readonly<Record<string, Assurance>>;

/** A category, or one of its facts. */
export const facts_from_pattern: string = `^(${factCategoryNames.join("|")})(\\.${fact_key_pattern.slice(1, -1)})?$`;

/** What membranes ask for that are made from now on, unless their maker says otherwise. */
export const factsFromDefault = {
  identity: "attested",
  "organizational.delegation_limit_usd": "attested",
} as const satisfies FactsFrom & { readonly [category in FactCategoryName]?: Assurance };

/** The reason of a fact that has a value, but less assurance than a membrane or policy asks for. */
export const untrusted_source = "untrusted_source";

/** The reason of a fact that only a trusted token may give, when the request has none. */
export const untrusted_token = "untrusted_token";

/** The reason of a fact that is stored for another spelling of the agent's id or of the target. */
export const other_spelling = "other_spelling";

/** The reason of a stored or pulled fact in what a key of role `agent` tries out, because such keys do not get these values. */
export const not_shown = "not_shown";
