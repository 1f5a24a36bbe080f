/** Roles and their permissions. Source: contract §5. */

/** The roles of keys and people, each with the roles whose permissions it includes (itself, too). */
export const roles = {
  admin: {
    includes: ["admin", "operator", "reviewer"],
    meaning: "Manages keys, membranes, policies, webhooks and people. Has all permissions of an operator.",
  },
  operator: {
    includes: ["operator", "reviewer"],
    meaning:
      "Manages stored context, failed deliveries, cancellations, reassignments, overrides and freezes. Has all permissions of a reviewer.",
  },
  reviewer: { includes: ["reviewer"], meaning: "Decides escalations." },
  host: {
    includes: ["host"],
    meaning: "Submits for agents and attests their facts. Only for keys. Decides and administers nothing.",
  },
  agent: { includes: ["agent"], meaning: "Submits intents and reads its own." },
  auditor: { includes: ["auditor"], meaning: "Reads everything and changes nothing." },
} as const satisfies Record<string, { includes: readonly string[]; meaning: string }>;

/** A role of an API key or a person. */
export type Role = keyof typeof roles;

/** Role names, strongest first. */
export const roleNames = [
  "admin",
  "operator",
  "reviewer",
  "host",
  "agent",
  "auditor",
] as const satisfies readonly Role[];

/** A role that a person can have. */
export type PersonRole = Exclude<Role, "host">;

/** The roles that a person can have, strongest first. */
export const personRoleNames = [
  "admin",
  "operator",
  "reviewer",
  "agent",
  "auditor",
] as const satisfies readonly PersonRole[];

/** Returns whether inline facts from a caller with this role are attested. Facts from an agent are only reported. */
export function attestsFacts(role: Role): boolean {
  return role !== "agent";
}

/** Returns whether a role only submits. Such a caller sees its own actions, and no stored or pulled values. */
export function onlySubmits(role: Role): boolean {
  return role === "agent" || role === "host";
}

/** The requirement of an operation: nothing, any valid key or session, a person's session, or at least one of these roles. */
export type Auth = "none" | "any" | "session" | readonly Role[];

/** Returns whether a caller with `role` meets `auth`. Does not check for a session. */
export function roleMeets(role: Role, auth: Auth): boolean {
  if (typeof auth === "string") return true;
  const held: readonly Role[] = roles[role].includes;
  return auth.some((least) => held.includes(least));
}
