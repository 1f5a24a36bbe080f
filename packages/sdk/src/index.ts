/** The typed client of Countersign. It needs `fetch` and nothing else. */
export {
  ActionBlocked,
  type CarryOutOptions,
  carryOut,
  carryOutDecided,
  type DecidingClient,
} from "./carry-out.ts";
export { type Client, createClient } from "./client.ts";
export type { ContextTarget } from "./context.ts";
export { ApiError, ConnectionError } from "./errors.ts";
export type { EscalationQuery, VoteOptions } from "./escalations.ts";
export { type CallDescription, createGuard, type ExecutableTool, type Guard, type GuardOptions } from "./guard.ts";
export { newIdempotencyKey } from "./idempotency-key.ts";
export type { DecisionOptions, IntentQuery, SubmitOptions } from "./intents.ts";
export type { AuditQuery, OverviewOptions } from "./organization.ts";
export type { OverrideQuery } from "./overrides.ts";
export { type Page, type PageQuery, pagesOf } from "./page.ts";
export type { ActionContent } from "./plain-content.ts";
export type { TransportOptions } from "./transport.ts";
export { type ContextRequest, verifyContextRequest } from "./verify-context-request.ts";
export { type VerifiedWebhook, type VerifyOptions, verifyWebhook, WebhookRejected } from "./verify-webhook.ts";
