import type {
  CancelInput,
  Decision,
  Escalation,
  EscalationStatus,
  PipelineMode,
  ReassignInput,
  ReviewerPace,
  RulingInput,
} from "@countersign/contract";
import { newIdempotencyKey } from "../idempotency-key.ts";
import type { Page, PageQuery } from "../page.ts";
import type { CallOptions, Transport } from "../transport.ts";

/** Filters of `listEscalations`. Without `mode`, escalations of test mode are omitted. */
export interface EscalationQuery extends PageQuery {
  readonly status?: EscalationStatus;
  readonly agent_id?: string;
  readonly reviewer?: string;
  readonly mode?: PipelineMode;
  /** Of pending escalations for the same action, only the newest is listed. `equal_pending` is their number. */
  readonly group?: "equal";
  /** Sorts pending escalations by the end of their time, the earliest first. */
  readonly order?: "expires_at";
}

/** The options of a vote besides the ruling. */
export interface VoteOptions {
  readonly idempotency_key?: string;
}

/** The methods on human review. */
export function escalationCalls(call: Transport) {
  const path = (escalation_id: string, part = "") => `/v1/escalations/${encodeURIComponent(escalation_id)}${part}`;
  const one = async (method: string, at: string, options: CallOptions = {}) =>
    (await call<{ escalation: Escalation }>(method, at, options)).escalation;

  return {
    /** Lists escalations, newest first or in the requested order. */
    listEscalations: (query: EscalationQuery = {}) =>
      call<Page<"escalations", Escalation>>("GET", "/v1/escalations", { query: { ...query } }),

    /** Returns one escalation in its current state. */
    getEscalation: (escalation_id: string) => one("GET", path(escalation_id)),

    /**
     * Votes. One rejection closes the escalation. Approvals close it when the reviewers of every rule gave theirs. Give
     * an `idempotency_key` to send the same vote again in another call.
     */
    decideEscalation: (escalation_id: string, ruling: RulingInput, { idempotency_key }: VoteOptions = {}) =>
      one("POST", path(escalation_id, "/decision"), {
        body: ruling,
        idempotency_key: idempotency_key ?? newIdempotencyKey(),
      }),

    /** Closes the escalation. Its action stays blocked. */
    cancelEscalation: (escalation_id: string, input: CancelInput = {}) =>
      one("POST", path(escalation_id, "/cancel"), { body: input }),

    /**
     * Withdraws your own action from review. It stays blocked. Only for the key that submitted it. Returns the
     * decision.
     */
    withdrawEscalation: async (escalation_id: string, input: CancelInput = {}) =>
      (await call<{ decision: Decision }>("POST", path(escalation_id, "/withdraw"), { body: input })).decision,

    /** Revokes an unclaimed approval, so that it can no longer be claimed. */
    revokeApproval: (escalation_id: string, input: CancelInput = {}) =>
      one("POST", path(escalation_id, "/revoke"), { body: input }),

    /** Assigns the escalation to other reviewers. It stays open. */
    reassignEscalation: (escalation_id: string, input: ReassignInput) =>
      one("POST", path(escalation_id, "/reassign"), { body: input }),

    /** How fast reviewers rule and how much they approve: everybody for admins, else yourself. */
    getReviewerPace: async () => (await call<{ pace: ReviewerPace }>("GET", "/v1/reviewers/pace")).pace,
  };
}
