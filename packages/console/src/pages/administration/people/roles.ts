import type { PersonRole } from "@countersign/contract";

export const roles = [
  ["reviewer", "reviewer: decides escalations"],
  ["operator", "operator: overrides, context, deliveries"],
  ["admin", "admin: everything"],
  ["auditor", "auditor: reads everything"],
] as const satisfies readonly (readonly [PersonRole, string])[];
