import { limits } from "../limits.ts";
import { Intake, IntakeInput, Quickstart, QuickstartInput } from "../resources/index.ts";
import type { Operation } from "./operation.ts";

/** From nothing to a first decision, without a key. Source: contract §4, api.md §10. */
export const onboardingOperations = {
  quickstart: {
    method: "POST",
    path: "/v1/onboarding/quickstart",
    tag: "Onboarding",
    summary: "Create an organization, a membrane in shadow mode and an API key",
    description:
      "The key is a live admin key, shown here only. The membrane decides the mode, so going live needs no new key. " +
      "With an Idempotency-Key of at least 128 random bits (22 characters, or 32 hexadecimal digits) the same request within ten " +
      "minutes answers with the same organization and a new key, and the first key is revoked. It answers 409 if the first key was " +
      "used, the body differs, or more time has passed.",
    auth: "none",
    rate: "onboarding",
    idempotent: true,
    body: QuickstartInput,
    body_bytes_max: limits.body_bytes_max,
    answers: { 201: { description: "The organization, its membrane and its key.", schema: Quickstart } },
    refuses: ["signup_closed", "not_found", "overloaded"],
  },
  intake: {
    method: "POST",
    path: "/v1/onboarding/intake",
    tag: "Onboarding",
    summary: "Recommend packs and an action catalogue for a described agent",
    auth: "none",
    rate: "onboarding",
    body: IntakeInput,
    body_bytes_max: limits.body_bytes_max,
    answers: { 200: { description: "What the description calls for.", schema: Intake } },
    refuses: ["signup_closed", "overloaded"],
  },
} as const satisfies Record<string, Operation>;
