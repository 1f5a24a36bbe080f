import type {
  CancelInput,
  Decision,
  Escalation,
  EscalationStatus,
  PipelineMode,
  ReassignInput,
  RulingInput,
} from "@countersign/contract";
import { newIdempotencyKey } from "../idempotency-key.ts";
import type { Page, PageQuery } from "../page.ts";
import type { CallOptions, Transport } from "../transport.ts";

/** Filters of `listEscalations`. Without `mode`, escalations of test mode are left out. */
export interface EscalationQuery extends PageQuery {
  readonly status?: EscalationStatus;
  readonly agent_id?: string;
  readonly reviewer?: string;
  readonly mode?: PipelineMode;
  /** Of pending ones that are for the same action, only the newest; `equal_pending` says how many there are. */
  readonly group?: "equal";
  /** Those whose time ends first come first; for pending ones only. */
  readonly order?: "expires_at";
}

/** What a vote may carry besides the ruling. */
export interface VoteOptions {
  readonly idempotency_key?: string;
}

/** The methods on human review. Source: api.md §6. */
export function escalationCalls(call: Transport) {
  const path = (escalation_id: string, part = "") => `/v1/escalations/${encodeURIComponent(escalation_id)}${part}`;
  const one = async (method: string, at: string, options: CallOptions = {}) =>
    (await call<{ escalation: Escalation }>(method, at, options)).escalation;

  return {
    /** Escalations, newest first or in the order asked for. */
    listEscalations: (query: EscalationQuery = {}) =>
      call<Page<"escalations", Escalation>>("GET", "/v1/escalations", { query: { ...query } }),

    /** One escalation as it stands. */
    getEscalation: (escalation_id: string) => one("GET", path(escalation_id)),

    /**
     * Votes. One rejection closes the escalation; approvals close it when each rule's reviewers gave theirs. Give an
     * `idempotency_key` to send the same vote again in another call.
     */
    decideEscalation: (escalation_id: string, ruling: RulingInput, { idempotency_key }: VoteOptions = {}) =>
      one("POST", path(escalation_id, "/decision"), {
        body: ruling,
        idempotency_key: idempotency_key ?? newIdempotencyKey(),
      }),

    /** Closes the escalation; its action stays blocked. */
    cancelEscalation: (escalation_id: string, input: CancelInput = {}) =>
      one("POST", path(escalation_id, "/cancel"), { body: input }),

    /** Takes your own action out of review; it stays blocked. For the key that submitted it. Returns the decision. */
    withdrawEscalation: async (escalation_id: string, input: CancelInput = {}) =>
      (await call<{ decision: Decision }>("POST", path(escalation_id, "/withdraw"), { body: input })).decision,

    /** Revokes an approval that nobody has claimed: nobody can claim it any more. */
    revokeApproval: (escalation_id: string, input: CancelInput = {}) =>
      one("POST", path(escalation_id, "/revoke"), { body: input }),

    /** Hands the escalation to other reviewers; it stays open. */
    reassignEscalation: (escalation_id: string, input: ReassignInput) =>
      one("POST", path(escalation_id, "/reassign"), { body: input }),
  };
}
