/** Who may do what. Source: contract §5, api.md §3. */

/** The roles of a key or person, with every role whose permissions each includes (itself too). */
export const roles = {
  admin: {
    includes: ["admin", "operator", "reviewer"],
    meaning: "Keys, membranes, policies, webhooks, people; and all that an operator may.",
  },
  operator: {
    includes: ["operator", "reviewer"],
    meaning:
      "Stored context, failed deliveries, cancelling and reassigning, overrides, freezes; and all that a reviewer may.",
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

/** Whether facts that a caller with this role sends with an action are attested. Facts of an agent are only reported. */
export function attestsFacts(role: Role): boolean {
  return role !== "agent";
}

/** Whether a role only submits, for agents: it sees its own actions, and no stored or pulled values. */
export function onlySubmits(role: Role): boolean {
  return role === "agent" || role === "host";
}

/** What an operation asks of its caller: nothing, any valid key or session, a person's session, or at least one of these roles. */
export type Auth = "none" | "any" | "session" | readonly Role[];

/** True when a caller with `role` meets `auth`; whether a session was asked for is not looked at. */
export function roleMeets(role: Role, auth: Auth): boolean {
  if (typeof auth === "string") return true;
  const held: readonly Role[] = roles[role].includes;
  return auth.some((least) => held.includes(least));
}
