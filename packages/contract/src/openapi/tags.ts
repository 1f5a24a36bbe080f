/** Says what the operations of each tag are for. */
export const tagDescriptions = {
  Operating: "Health, metrics and this document, for people who run the service.",
  Onboarding: "Create an organization with its first membrane and key, and find the packs for an agent.",
  "API keys": "Create, bind, rotate and revoke the keys of agents and programs.",
  Intents: "Submit actions, read the decisions, claim approved actions and report how they ended.",
  AuthZEN: "Let gateways and other enforcement points ask for decisions in the standard format of AuthZEN 1.0.",
  Overrides: "Let the next retry of a blocked action through, once.",
  Context: "Store the facts that policies use, or register an endpoint that the service asks for them.",
  "Token issuers": "Say which issuers may prove with tokens who an agent is.",
  Membranes: "A membrane is a set of rules for agents: its packs, its policies and its settings.",
  Usage: "Read how much of the plan is used.",
  Escalations: "Read and decide the actions that wait for reviewers.",
  Erasure: "Forget people: erase content, say how long it is kept, and hold what must be kept.",
  Exports: "Hand decisions and the audit trail out as files.",
  Log: "Read the signed tree over the audit trail, so that readers can check it without trusting the service.",
  Streams: "Write the audit trail to a store, for a SIEM or an archive.",
  Agents: "See which agents act, and say who answers for them.",
  Grants: "Allow a limited number of actions that are similar to a held one.",
  Freezes: "Stop an agent, a key or the whole organization at once.",
  Organization: "Read and change the settings of the organization, and read its audit trail and figures.",
  Webhooks: "Register receivers of signed events, and send failed deliveries again.",
  Channels: "Announce reviews in Slack, in Microsoft Teams and in browsers, and link the accounts of people.",
  Policies: "Check, save and activate policies, read packs and counters, and try policies on recorded actions.",
  People: "Sign in, invite people, give them roles, and manage passwords, passkeys and single sign-on.",
} as const;

export type Tag = keyof typeof tagDescriptions;
