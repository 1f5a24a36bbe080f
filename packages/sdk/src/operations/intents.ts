import type {
  AuditRecord,
  BatchAnswer,
  BatchItem,
  Decision,
  IntentAnswer,
  IntentList,
  IntentSubmission,
  Observation,
  ObservationInput,
  PipelineMode,
  ReceiptQuery,
  SubmitAnswer,
  Verdict,
} from "@countersign/contract";
import { newIdempotencyKey } from "../idempotency-key.ts";
import type { Page, PageQuery } from "../page.ts";
import type { TraceContext, Transport } from "../transport.ts";

export interface SubmitOptions {
  readonly mode?: "shadow" | undefined;
  /** The W3C trace context of the caller. The service's spans continue this trace. */
  readonly trace?: TraceContext | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** `from` is included, `to` is not. */
export interface IntentQuery extends PageQuery {
  readonly agent_id?: string;
  readonly verdict?: Verdict;
  readonly mode?: PipelineMode;
  readonly membrane_id?: string;
  readonly from?: string;
  readonly to?: string;
  /** `unknown`: claimed, and nobody reported an outcome in time. */
  readonly execution?: "unknown";
  /** The members below make a search: a page may end early, see `searched_to` of the answer. */
  readonly session_id?: string;
  readonly on_behalf_of?: string;
  /** The name of a rule that stopped or changed the action. */
  readonly rule?: string;
  readonly tool?: string;
  readonly target?: string;
  /** A part of the summary, in any case of its letters. */
  readonly text?: string;
  readonly outcome?: "waiting" | "overridden" | "executed" | "failed" | "withdrawn" | "contradicted";
}

/** `wait` (at most 55 seconds) delays the answer until the outcome is final. */
export interface DecisionOptions {
  readonly wait?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const wait_seconds_max = 55;

const path = (intent_id: string, part = "") => `/v1/intents/${encodeURIComponent(intent_id)}${part}`;

export function intentCalls(call: Transport) {
  const readDecision = async (intent_id: string, { wait, signal }: DecisionOptions, over_outages: boolean) => {
    const options = { query: { wait }, signal, over_outages };
    return (await call<{ decision: Decision }>("GET", path(intent_id, "/decision"), options)).decision;
  };

  return {
    /**
     * Requests the decision on an action. When the call resolves, the decision is on disk. Without `idempotency_key`
     * the client creates one, so that its own retries never decide twice.
     */
    submitIntent: (
      submission: IntentSubmission,
      { idempotency_key, mode, trace, signal }: SubmitOptions & { readonly idempotency_key?: string } = {},
    ) => {
      // The prefix marks a key for retries of this request only. Such a key does not distinguish two equal actions.
      const key = idempotency_key ?? `retry-${newIdempotencyKey()}`;
      return call<SubmitAnswer>("POST", "/v1/intents", {
        body: submission,
        query: { mode },
        idempotency_key: key,
        agent_token: true,
        trace,
        signal,
      });
    },

    /**
     * Requests decisions on up to 50 actions as one request. Answers come in order. A bad item fails alone (`success:
     * false`), without throwing. Items without an `idempotency_key` get one.
     */
    submitIntentBatch: (items: readonly BatchItem[], { mode, trace, signal }: SubmitOptions = {}) => {
      const intents = items.map((item) => ({
        ...item,
        idempotency_key: item.idempotency_key ?? `retry-${newIdempotencyKey()}`,
      }));
      const terms = { query: { mode }, repeatable: true, agent_token: true, trace, signal };
      return call<BatchAnswer>("POST", "/v1/intents/batch", { body: { intents }, ...terms });
    },

    /** Lists intents with their verdicts, newest first. */
    listIntents: (query: IntentQuery = {}) => call<IntentList>("GET", "/v1/intents", { query: { ...query } }),

    /** Returns the intent, the facts of its decision, and the decision. */
    getIntent: (intent_id: string) => call<IntentAnswer>("GET", path(intent_id)),

    /** Returns the current decision, or the decision after waiting for the outcome. */
    getDecision: (intent_id: string, options: DecisionOptions = {}) => readDecision(intent_id, options, false),

    /**
     * Resolves when the outcome is final, however long the review takes, also across restarts of the service. `signal`
     * ends the wait. Rejects if the service cannot be reached for about five minutes.
     */
    waitForOutcome: async (intent_id: string, signal?: AbortSignal): Promise<Decision> => {
      for (;;) {
        const decision = await readDecision(intent_id, { wait: wait_seconds_max, signal }, true);
        if (decision.status === "final") return decision;
      }
    },

    ...recordCalls(call),
    ...executionCalls(call),
  };
}

function recordCalls(call: Transport) {
  return {
    /** Lists the audit records of an intent, oldest first. */
    listIntentAudit: (intent_id: string, query: PageQuery = {}) =>
      call<Page<"audit", AuditRecord>>("GET", path(intent_id, "/audit"), { query: { ...query } }),

    /**
     * Returns the receipt of an intent as text: a file for `verifyReceipt`, or with `tlog-proof` the C2SP tlog-proof of
     * the decision. Keep the text unchanged.
     */
    getIntentReceipt: (intent_id: string, { format = "json" }: ReceiptQuery = {}) =>
      call<string>("GET", path(intent_id, "/receipt"), { query: { format }, as: "text" }),
  };
}

/** See docs/decisions/0036-claims.md. */
function executionCalls(call: Transport) {
  return {
    /**
     * Claims an approved action before it is executed. Create a `nonce` per process and action; the client repeats the
     * claim with it. Throws `ApiError` with `already_claimed` if another caller claimed the action, and `blocked_now`
     * if current rules block it. `next_nonce` passes the caller's claim on: only one request can replace `nonce`.
     */
    claimIntent: async (intent_id: string, nonce: string, next_nonce?: string) => {
      const options = { body: { nonce, next_nonce }, repeatable: true };
      return (await call<{ decision: Decision }>("POST", path(intent_id, "/claim"), options)).decision;
    },

    /** Records what the agent did after the decision. */
    recordObservation: async (intent_id: string, observation: ObservationInput) => {
      const options = { body: observation, idempotency_key: newIdempotencyKey() };
      return (await call<{ observation: Observation }>("POST", path(intent_id, "/observations"), options)).observation;
    },
  };
}
