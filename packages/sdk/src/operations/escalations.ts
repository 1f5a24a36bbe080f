import type {
  CancelInput,
  Confirmation,
  ConfirmationInput,
  Decision,
  Escalation,
  EscalationStatus,
  escalationOrders,
  PipelineMode,
  ReassignInput,
  ReviewerPace,
  RulingInput,
  TakeInput,
} from "@countersign/contract";
import { newIdempotencyKey } from "../idempotency-key.ts";
import type { Page, PageQuery } from "../page.ts";
import type { CallOptions, Transport } from "../transport.ts";

/** Without `mode`, escalations of test mode are omitted. */
export interface EscalationQuery extends PageQuery {
  readonly status?: EscalationStatus;
  readonly agent_id?: string;
  readonly reviewer?: string;
  readonly mode?: PipelineMode;
  /** Lists only the newest of pending escalations for the same action. `equal_pending` is their number. */
  readonly group?: "equal";
  /** Name or id of a policy that holds the action. */
  readonly rule?: string;
  readonly tool?: string;
  readonly amount_usd_min?: number;
  readonly amount_usd_max?: number;
  /** Opened at or after; RFC 3339. */
  readonly from?: string;
  /** Opened before; RFC 3339. */
  readonly to?: string;
  readonly missing_fact?: string;
  readonly uncovered?: "true";
  /** A text in the agent, tool, first rule, target, summary or reason. */
  readonly text?: string;
  /** Only what the caller took, and what names the caller as a reviewer. */
  readonly mine?: "only";
  /** Without, or only, what the caller snoozed. Absent: all. */
  readonly snoozed?: "exclude" | "only";
  /** Only for pending escalations. Absent: newest first. */
  readonly order?: (typeof escalationOrders)[number];
}

export interface VoteOptions {
  readonly idempotency_key?: string;
}

export function escalationCalls(call: Transport) {
  const path = (escalation_id: string, part = "") => `/v1/escalations/${encodeURIComponent(escalation_id)}${part}`;
  const one = async (method: string, at: string, options: CallOptions = {}) =>
    (await call<{ escalation: Escalation }>(method, at, options)).escalation;

  return {
    /** Lists escalations, newest first or in the requested order. */
    listEscalations: (query: EscalationQuery = {}) =>
      call<Page<"escalations", Escalation>>("GET", "/v1/escalations", { query: { ...query } }),

    getEscalation: (escalation_id: string) => one("GET", path(escalation_id)),

    /**
     * Votes. One rejection closes the escalation. It is approved when every rule has its approvals. Use
     * `idempotency_key` to repeat the same vote in another call.
     */
    decideEscalation: (escalation_id: string, ruling: RulingInput, { idempotency_key }: VoteOptions = {}) =>
      one("POST", path(escalation_id, "/decision"), {
        body: ruling,
        idempotency_key: idempotency_key ?? newIdempotencyKey(),
      }),

    /** Returns the ruling that a passkey signs, for a person who is signed in. The answer belongs into the vote. */
    beginConfirmation: (escalation_id: string, vote: ConfirmationInput) =>
      call<Confirmation>("POST", path(escalation_id, "/confirmation"), { body: vote }),

    /** Closes the escalation. Its action stays blocked. */
    cancelEscalation: (escalation_id: string, input: CancelInput = {}) =>
      one("POST", path(escalation_id, "/cancel"), { body: input }),

    /** Withdraws your own action from review; only with the key that submitted it. The action stays blocked. */
    withdrawEscalation: async (escalation_id: string, input: CancelInput = {}) =>
      (await call<{ decision: Decision }>("POST", path(escalation_id, "/withdraw"), { body: input })).decision,

    /** Revokes an approval that nobody has claimed. */
    revokeApproval: (escalation_id: string, input: CancelInput = {}) =>
      one("POST", path(escalation_id, "/revoke"), { body: input }),

    /** Assigns the escalation to other reviewers. It stays open. */
    reassignEscalation: (escalation_id: string, input: ReassignInput) =>
      one("POST", path(escalation_id, "/reassign"), { body: input }),

    /** Takes the review, so that other reviewers know who works on it. `taken: false` gives it back. */
    takeEscalation: (escalation_id: string, input: TakeInput = {}) =>
      one("POST", path(escalation_id, "/take"), { body: input }),

    /** Comments without a ruling. The audit trail keeps the comment. */
    commentOnEscalation: (escalation_id: string, comment: string) =>
      one("POST", path(escalation_id, "/comment"), { body: { comment } }),

    /** Hides the review from the caller's own queue until a time or a change. `until` null: shows it again. */
    snoozeEscalation: (escalation_id: string, until: string | null) =>
      one("POST", path(escalation_id, "/snooze"), { body: { until } }),

    /** Returns how fast reviewers decide and how much they approve: everybody for admins, otherwise yourself. */
    getReviewerPace: async () => (await call<{ pace: ReviewerPace }>("GET", "/v1/reviewers/pace")).pace,
  };
}
