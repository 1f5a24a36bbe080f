import type { Intake, IntakeInput, Quickstart, QuickstartInput } from "@countersign/contract";
import { apiKeyCalls } from "./api-keys.ts";
import { contextCalls } from "./context.ts";
import { escalationCalls } from "./escalations.ts";
import { intentCalls } from "./intents.ts";
import { membraneCalls } from "./membranes.ts";
import { organizationCalls } from "./organization.ts";
import { overrideCalls } from "./overrides.ts";
import { passkeyCalls } from "./passkeys.ts";
import { peopleCalls } from "./people.ts";
import { policyCalls } from "./policies.ts";
import { singleSignOnCalls } from "./single-sign-on.ts";
import { createTransport, type TransportOptions } from "./transport.ts";
import { webhookCalls } from "./webhooks.ts";

/**
 * A client of one service with one API key. Every method throws `ApiError` or `ConnectionError`, and a `TypeError` where an
 * identifier is one that no URL can hold (`.`, `..` or nothing), or an `idempotency_key` one that no header can.
 */
export type Client = ReturnType<typeof createClient>;

/**
 * Makes a client. It keeps no connection and no state; make one and share it. Methods are named as the operations in
 * openapi.json; where the API wraps a resource by its name, the method gives the resource itself.
 */
export function createClient(options: TransportOptions) {
  const call = createTransport(options);
  return {
    /** Creates an organization, a membrane in shadow mode and a first key, in full here only. Needs no key. */
    quickstart: (input: QuickstartInput) => call<Quickstart>("POST", "/v1/onboarding/quickstart", { body: input }),

    /** Recommends packs and an action catalogue for a described agent. Needs no key. */
    intake: (input: IntakeInput) => call<Intake>("POST", "/v1/onboarding/intake", { body: input }),

    ...intentCalls(call),
    ...apiKeyCalls(call),
    ...contextCalls(call),
    ...membraneCalls(call),
    ...escalationCalls(call),
    ...overrideCalls(call),
    ...policyCalls(call),
    ...webhookCalls(call),
    ...organizationCalls(call),
    ...peopleCalls(call),
    ...passkeyCalls(call),
    ...singleSignOnCalls(call),
  };
}
