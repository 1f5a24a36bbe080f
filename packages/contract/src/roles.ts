/** The roles of keys and people, with the roles whose permissions they include (themselves, too). Source: spec §5. */
export const roles = {
  admin: {
    includes: ["admin", "operator", "reviewer"],
    meaning:
      "Manages keys, membranes, policies, webhooks, agents, sign-in and people, and ends freezes. Has all permissions of an operator.",
  },
  operator: {
    includes: ["operator", "reviewer"],
    meaning:
      "Manages stored facts, failed deliveries and overrides. Cancels and reassigns reviews, revokes approvals, adjusts counters, starts freezes and reads the audit trail. Has all permissions of a reviewer.",
  },
  reviewer: {
    includes: ["reviewer"],
    meaning: "Decides escalations, manages grants, and reads decisions, rules and agents.",
  },
  host: {
    includes: ["host"],
    meaning: "Submits for agents and attests their facts. Only for keys. Decides and administers nothing.",
  },
  agent: { includes: ["agent"], meaning: "Submits intents and reads its own." },
  auditor: {
    includes: ["auditor"],
    meaning:
      "Reads decisions, rules, people and the audit trail, but no keys, invitations and failed deliveries. Changes nothing.",
  },
} as const satisfies Record<string, { includes: readonly string[]; meaning: string }>;

export type Role = keyof typeof roles;

/** Strongest first. */
export const roleNames = [
  "admin",
  "operator",
  "reviewer",
  "host",
  "agent",
  "auditor",
] as const satisfies readonly Role[];

export type PersonRole = Exclude<Role, "host">;

/** Strongest first. */
export const personRoleNames = [
  "admin",
  "operator",
  "reviewer",
  "agent",
  "auditor",
] as const satisfies readonly PersonRole[];

/** Returns whether inline facts from this role are attested. Facts from an agent are only reported. */
export function attestsFacts(role: Role): boolean {
  return role !== "agent";
}

/** Returns whether a role only submits. Such a caller sees its own actions, and no stored or pulled values. */
export function onlySubmits(role: Role): boolean {
  return role === "agent" || role === "host";
}

/** The callers of an operation: anyone, any valid key or session, a session, or at least one of these roles. */
export type Auth = "none" | "any" | "session" | readonly Role[];

/** Does not check for a session. */
export function roleMeets(role: Role, auth: Auth): boolean {
  if (typeof auth === "string") return true;
  const held: readonly Role[] = roles[role].includes;
  return auth.some((least) => held.includes(least));
}
