import type { FactCategory } from "./fact.ts";

/** Source: spec §2.9 entity_state. */
export const entityState = {
  name: "entity_state",
  meaning: "the account or record that an action touches",
  max_age_seconds: 300,
  fields: [
    { name: "account_balance_usd", types: ["number"], meaning: "balance of the touched account in USD" },
    { name: "account_status", types: ["string"], meaning: "for example active, frozen, closed" },
  ],
} as const satisfies FactCategory;
