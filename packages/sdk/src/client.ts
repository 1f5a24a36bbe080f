import type { Intake, IntakeInput, Quickstart, QuickstartInput } from "@countersign/contract";
import { newIdempotencyKey } from "./idempotency-key.ts";
import { agentCalls } from "./operations/agents.ts";
import { apiKeyCalls } from "./operations/api-keys.ts";
import { channelCalls } from "./operations/channels.ts";
import { contextCalls } from "./operations/context.ts";
import { counterCalls } from "./operations/counters.ts";
import { escalationCalls } from "./operations/escalations.ts";
import { freezeCalls } from "./operations/freezes.ts";
import { grantCalls } from "./operations/grants.ts";
import { hookCalls } from "./operations/hooks.ts";
import { intentCalls } from "./operations/intents.ts";
import { membraneCalls } from "./operations/membranes.ts";
import { organizationCalls } from "./operations/organization.ts";
import { overrideCalls } from "./operations/overrides.ts";
import { passkeyCalls } from "./operations/passkeys.ts";
import { peopleCalls } from "./operations/people.ts";
import { policyCalls } from "./operations/policies.ts";
import { erasureCalls } from "./operations/records/erasure.ts";
import { logCalls } from "./operations/records/log.ts";
import { streamCalls } from "./operations/records/streams.ts";
import { rolloutCalls } from "./operations/rollouts.ts";
import { singleSignOnCalls } from "./operations/single-sign-on.ts";
import { tokenIssuerCalls } from "./operations/token-issuers.ts";
import { webhookCalls } from "./operations/webhooks.ts";
import { createTransport, type TransportOptions } from "./transport.ts";

/**
 * A client of one service with one API key. Every method throws `ApiError` or `ConnectionError`. A `TypeError` means an
 * identifier that no URL can contain (`.`, `..`, empty) or an `idempotency_key` that no header can contain.
 */
export type Client = ReturnType<typeof createClient>;

/**
 * Creates a client without connections or state: create one and share it. Methods have the names of the operations in
 * openapi.json. If the API wraps a resource by its name, the method returns the resource itself.
 */
export function createClient(options: TransportOptions) {
  const call = createTransport(options);
  return {
    /**
     * Creates an organization, a membrane in shadow mode and a first key. Only this answer contains the full key. Needs
     * no key.
     */
    quickstart: (input: QuickstartInput) =>
      call<Quickstart>("POST", "/v1/onboarding/quickstart", { body: input, idempotency_key: newIdempotencyKey() }),

    /** Recommends packs and an action catalogue for a described agent. Needs no key. */
    intake: (input: IntakeInput) => call<Intake>("POST", "/v1/onboarding/intake", { body: input }),

    ...intentCalls(call),
    ...hookCalls(call),
    ...apiKeyCalls(call),
    ...contextCalls(call),
    ...tokenIssuerCalls(call),
    ...membraneCalls(call),
    ...rolloutCalls(call),
    ...escalationCalls(call),
    ...overrideCalls(call),
    ...agentCalls(call),
    ...counterCalls(call),
    ...grantCalls(call),
    ...freezeCalls(call),
    ...policyCalls(call),
    ...webhookCalls(call),
    ...channelCalls(call),
    ...organizationCalls(call),
    ...logCalls(call),
    ...erasureCalls(call),
    ...streamCalls(call),
    ...peopleCalls(call),
    ...passkeyCalls(call),
    ...singleSignOnCalls(call),
  };
}
