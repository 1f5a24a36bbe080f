/** All facts that the contract lists, by category. Source: contract §2.9. docs/reference/facts.md is written from here. */

import { entityState } from "./entity-state.ts";
import { environmental } from "./environmental.ts";
import type { FactCategory } from "./fact.ts";
import { identity } from "./identity.ts";
import { organizational } from "./organizational.ts";
import { regulatory } from "./regulatory.ts";
import { security } from "./security.ts";

export type { FactCategory, FactConstraint, FactField, FactType } from "./fact.ts";
export { usStateCodes } from "./us-states.ts";

/**
 * The six categories in contract order: 85 listed facts in all. Five names stand in two categories each (recipient_state,
 * ai_voice_detected and ai_voice_disclosure in environmental and regulatory; account_status in entity_state and identity;
 * delegation_limit_usd in organizational and identity); they are separate facts.
 */
export const factCategories = {
  environmental,
  entity_state: entityState,
  regulatory,
  organizational,
  identity,
  security,
} as const satisfies Record<string, FactCategory>;

/** The name of a category of facts. */
export type FactCategoryName = keyof typeof factCategories;

/** The category names in contract order. */
export const factCategoryNames = Object.keys(factCategories) as FactCategoryName[];

/** The constant that `contract_version` of a context document holds: a string, never the number 1. */
export const context_contract_version = "1";

/** Every key of a category object matches this; the same text is a JSON Schema pattern. Source: contract §2.9 rule 2. */
export const fact_key_pattern = "^[a-z][a-z0-9_]{0,63}$";

/**
 * Single facts that are good for a shorter time than their category, in seconds, by `category.field`: a certificate can be
 * revoked any day, while the rest of `organizational` changes by the week.
 */
export const factMaxAgeSeconds: Readonly<Record<string, number>> = {
  "organizational.ssl_certificate_valid": 86_400,
  "organizational.certificate_expiry_days": 86_400,
};

/**
 * The fact that is good until the clock strikes, as `category.field`, and for no time beyond: a recipient's local hour is
 * another one then, however young the fact is. Every zone of the United States is a whole number of hours from UTC, so the
 * UTC hour decides. Source: policies.md §3 rule 7.
 */
export const clock_hour_fact = "environmental.recipient_local_hour";
