/** All facts that the contract lists, by category. docs/reference/facts.md is generated from this file. Source: contract §2.9. */

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
 * The six categories in contract order, with 85 listed facts. Five names are in two categories each (recipient_state,
 * ai_voice_detected and ai_voice_disclosure in environmental and regulatory; account_status in entity_state and identity;
 * delegation_limit_usd in organizational and identity). They are separate facts.
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

/** The constant `contract_version` of a context document: a string, never the number 1. */
export const context_contract_version = "1";

/** The pattern of fact names, also used as a JSON Schema pattern. Source: contract §2.9 rule 2. */
export const fact_key_pattern = "^[a-z][a-z0-9_]{0,63}$";

/**
 * Facts that become stale sooner than their category, in seconds, by `category.field`. A certificate can be
 * revoked any day, while other facts of `organizational` change weekly.
 */
export const factMaxAgeSeconds: Readonly<Record<string, number>> = {
  "organizational.ssl_certificate_valid": 86_400,
  "organizational.certificate_expiry_days": 86_400,
};

/**
 * The fact, as `category.field`, that becomes stale at the full hour. A recipient's local hour changes then, however recent
 * the fact is. Every zone of the United States is a whole number of hours from UTC, so the
 * UTC hour decides.
 */
export const clock_hour_fact = "environmental.recipient_local_hour";
