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
  agent: { includes: ["agent"], meaning: "Submits intents and reads its own." },
  auditor: { includes: ["auditor"], meaning: "Reads everything and changes nothing." },
} as const satisfies Record<string, { includes: readonly string[]; meaning: string }>;

/** A role of an API key or a person. */
export type Role = keyof typeof roles;

/** Role names, strongest first. */
export const roleNames = ["admin", "operator", "reviewer", "agent", "auditor"] as const satisfies readonly Role[];

/** What an operation asks of its caller: nothing, any valid key or session, a person's session, or at least one of these roles. */
export type Auth = "none" | "any" | "session" | readonly Role[];

/** True when a caller with `role` meets `auth`; whether a session was asked for is not looked at. */
export function roleMeets(role: Role, auth: Auth): boolean {
  if (typeof auth === "string") return true;
  const held: readonly Role[] = roles[role].includes;
  return auth.some((least) => held.includes(least));
}
