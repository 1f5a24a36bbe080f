import type { FactCategory } from "./fact.ts";

/** Source: spec §2.9 security. */
export const security = {
  name: "security",
  meaning: "alarms",
  max_age_seconds: 300,
  fields: [
    { name: "privilege_escalation_alert", types: ["boolean"], meaning: "an alert of privilege escalation is open" },
    {
      name: "prompt_injection_detected",
      types: ["boolean"],
      meaning: "prompt injection was detected in what the agent read",
    },
    { name: "active_security_incident", types: ["boolean"], meaning: "a security incident is open" },
    { name: "siem_ref", types: ["string"], meaning: "the place of the system's events in the customer's SIEM" },
  ],
} as const satisfies FactCategory;
