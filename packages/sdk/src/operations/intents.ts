import type {
  AuditRecord,
  BatchAnswer,
  BatchItem,
  Decision,
  IntentAnswer,
  IntentListItem,
  IntentSubmission,
  Observation,
  ObservationInput,
  PipelineMode,
  SubmitAnswer,
  Verdict,
} from "@countersign/contract";
import { newIdempotencyKey } from "../idempotency-key.ts";
import type { Page, PageQuery } from "../page.ts";
import type { Transport } from "../transport.ts";

export interface SubmitOptions {
  readonly mode?: "shadow" | undefined;
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
  readonly session_id?: string;
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
      { idempotency_key, mode, signal }: SubmitOptions & { readonly idempotency_key?: string } = {},
    ) => {
      // The prefix marks a key for retries of this request only. Such a key does not distinguish two equal actions.
      const key = idempotency_key ?? `retry-${newIdempotencyKey()}`;
      return call<SubmitAnswer>("POST", "/v1/intents", {
        body: submission,
        query: { mode },
        idempotency_key: key,
        agent_token: true,
        signal,
      });
    },

    /**
     * Requests decisions on up to 50 actions as one request. Answers come in order. A bad item fails alone (`success:
     * false`), without throwing. Items without an `idempotency_key` get one.
     */
    submitIntentBatch: (items: readonly BatchItem[], { mode, signal }: SubmitOptions = {}) => {
      const intents = items.map((item) => ({
        ...item,
        idempotency_key: item.idempotency_key ?? `retry-${newIdempotencyKey()}`,
      }));
      const terms = { query: { mode }, repeatable: true, agent_token: true, signal };
      return call<BatchAnswer>("POST", "/v1/intents/batch", { body: { intents }, ...terms });
    },

    /** Lists intents with their verdicts, newest first. */
    listIntents: (query: IntentQuery = {}) =>
      call<Page<"intents", IntentListItem>>("GET", "/v1/intents", { query: { ...query } }),

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

    /** Lists the audit records of an intent, oldest first. */
    listIntentAudit: (intent_id: string, query: PageQuery = {}) =>
      call<Page<"audit", AuditRecord>>("GET", path(intent_id, "/audit"), { query: { ...query } }),

    ...executionCalls(call),
  };
}

/** See docs/decisions/0036-claims.md. */
function executionCalls(call: Transport) {
  return {
    /**
     * Claims an approved action before it is executed. Create a `nonce` per process and action; the client repeats the
     * claim with it. Throws `ApiError` with `already_claimed` if another caller claimed the action, and `blocked_now`
     * if current rules block it.
     */
    claimIntent: async (intent_id: string, nonce: string) => {
      const options = { body: { nonce }, repeatable: true };
      return (await call<{ decision: Decision }>("POST", path(intent_id, "/claim"), options)).decision;
    },

    /** Records what the agent did after the decision. */
    recordObservation: async (intent_id: string, observation: ObservationInput) => {
      const options = { body: observation, idempotency_key: newIdempotencyKey() };
      return (await call<{ observation: Observation }>("POST", path(intent_id, "/observations"), options)).observation;
    },
  };
}
