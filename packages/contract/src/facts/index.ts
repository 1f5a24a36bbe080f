/** All listed facts, by category. docs/reference/facts.md is generated from this file. Source: spec §2.9. */

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
 * The six categories with 85 listed facts. Five names are in two categories each, such as `account_status` in
 * entity_state and identity. They are separate facts.
 */
export const factCategories = {
  environmental,
  entity_state: entityState,
  regulatory,
  organizational,
  identity,
  security,
} as const satisfies Record<string, FactCategory>;

export type FactCategoryName = keyof typeof factCategories;

export const factCategoryNames = Object.keys(factCategories) as FactCategoryName[];

/** A string, never the number 1. */
export const context_contract_version = "1";

/** The pattern of fact names, also in JSON Schema. Source: spec §2.9 rule 2. */
export const fact_key_pattern = "^[a-z][a-z0-9_]{0,63}$";

/**
 * Facts that become stale sooner than their category, in seconds, by `category.field`. A certificate can be revoked any
 * day.
 */
export const factMaxAgeSeconds: Readonly<Record<string, number>> = {
  "organizational.ssl_certificate_valid": 86_400,
  "organizational.certificate_expiry_days": 86_400,
};

/**
 * The fact, as `category.field`, that becomes stale at every full hour, because the local hour changes. All US zones
 * differ from UTC by whole hours.
 */
export const clock_hour_fact = "environmental.recipient_local_hour";
