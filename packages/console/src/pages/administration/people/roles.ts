import type { PersonRole } from "@countersign/contract";

export const roles = [
  ["reviewer", "reviewer: decides escalations"],
  ["operator", "operator: overrides, freezes, facts, deliveries"],
  ["admin", "admin: everything"],
  ["auditor", "auditor: reads decisions, rules, audit trail"],
] as const satisfies readonly (readonly [PersonRole, string])[];
