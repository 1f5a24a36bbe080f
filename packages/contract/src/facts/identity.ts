import type { FactCategory } from "./fact.ts";

/** Source: spec §2.9 identity. */
export const identity = {
  name: "identity",
  meaning: "the agent as the identity provider knows it",
  max_age_seconds: 3_600,
  fields: [
    {
      name: "authenticated_agent_id",
      types: ["string"],
      meaning: "agent identity that the customer's identity provider authenticated",
    },
    { name: "account_status", types: ["string"], meaning: "for example active, provisioned, suspended" },
    { name: "last_account_review_days", types: ["number"], meaning: "days since last access review" },
    { name: "assigned_permissions", types: ["array"], meaning: "permissions assigned to the agent" },
    { name: "delegation_limit_usd", types: ["number"], meaning: "USD" },
    { name: "recovery_authorization", types: ["boolean"], meaning: "agent may run recovery actions" },
    { name: "clearance_status", types: ["string"], meaning: "for example cleared, uncleared" },
    { name: "clearance_verified", types: ["boolean"], meaning: "the clearance was verified" },
  ],
} as const satisfies FactCategory;
