import { limits } from "../limits.ts";
import { Intake, IntakeInput, Quickstart, QuickstartInput } from "../resources/index.ts";
import type { Operation } from "./operation.ts";

/** Creates the first organization without an API key. Source: spec §4. */
export const onboardingOperations = {
  quickstart: {
    method: "POST",
    path: "/v1/onboarding/quickstart",
    tag: "Onboarding",
    summary: "Create an organization, a membrane in shadow mode and an API key",
    description:
      "The key is a live admin key. Only this answer shows it. The membrane sets the mode, so going live needs no new key. " +
      "With an Idempotency-Key of at least 128 random bits (22 characters, or 32 hexadecimal digits) the same request within ten " +
      "minutes returns the same organization with a new key, and revokes the first key. It answers 409 if the first key was " +
      "used, if the body differs, or after ten minutes.",
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
    answers: { 200: { description: "The recommendation.", schema: Intake } },
    refuses: ["signup_closed", "overloaded"],
  },
} as const satisfies Record<string, Operation>;
