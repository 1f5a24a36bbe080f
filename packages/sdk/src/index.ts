/** The typed client of Countersign. Needs only `fetch`. */
export {
  ActionBlocked,
  type CarryOutOptions,
  ClaimedBefore,
  carryOut,
  carryOutDecided,
  type DecidingClient,
  observationOf,
} from "./carry-out.ts";
export { type Client, createClient } from "./client.ts";
export { ApiError, ConnectionError } from "./errors.ts";
export {
  type CallDescription,
  createGuard,
  type ExecutableTool,
  type Guard,
  type GuardOptions,
  type SubmissionTerms,
} from "./guard.ts";
export { newIdempotencyKey } from "./idempotency-key.ts";
export type { ContextTarget } from "./operations/context.ts";
export type { CounterQuery } from "./operations/counters.ts";
export type { EscalationQuery, VoteOptions } from "./operations/escalations.ts";
export type { HookOptions } from "./operations/hooks.ts";
export type { DecisionOptions, IntentQuery, SubmitOptions } from "./operations/intents.ts";
export type { AuditQuery, ExportOptions, OverviewOptions } from "./operations/organization.ts";
export type { OverrideQuery } from "./operations/overrides.ts";
export { type Page, type PageQuery, pagesOf } from "./page.ts";
export type { ActionContent } from "./plain-content.ts";
export type { TraceContext, TransportOptions } from "./transport.ts";
export { type ContextRequest, verifyContextRequest } from "./verify-context-request.ts";
export { type VerifiedWebhook, type VerifyOptions, verifyWebhook, WebhookRejected } from "./verify-webhook.ts";
