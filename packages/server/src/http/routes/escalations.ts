import { cancelEscalation } from "../../operations/escalations/cancel-escalation.ts";
import { beginConfirmation } from "../../operations/escalations/confirmations/begin-confirmation.ts";
import { decideEscalation } from "../../operations/escalations/decide-escalation.ts";
import { getEscalation } from "../../operations/escalations/get-escalation.ts";
import { listEscalations } from "../../operations/escalations/list-escalations.ts";
import { commentOnEscalation, snoozeEscalation, takeEscalation } from "../../operations/escalations/mark-review.ts";
import { readPace } from "../../operations/escalations/read-pace.ts";
import { reassignEscalation } from "../../operations/escalations/reassign-escalation.ts";
import { revokeApproval } from "../../operations/escalations/revoke-approval.ts";
import { withdrawEscalation } from "../../operations/escalations/withdraw-escalation.ts";
import type { Runtime } from "../../operations/runtime.ts";
import { pageLimitDefault } from "../../store/rows/cursor.ts";
import { answerOnce } from "../answer/answer-once.ts";
import { passkeySite } from "../gate/passkey-site.ts";
import type { Handlers, OperationRequest } from "../handler.ts";

type EscalationHandlers = Pick<
  Handlers,
  | "listEscalations"
  | "getEscalation"
  | "decideEscalation"
  | "beginConfirmation"
  | "cancelEscalation"
  | "withdrawEscalation"
  | "revokeApproval"
  | "reassignEscalation"
  | "takeEscalation"
  | "commentOnEscalation"
  | "snoozeEscalation"
  | "getReviewerPace"
>;

export function escalationRoutes(runtime: Runtime): EscalationHandlers {
  const siteOf = ({ host }: OperationRequest["headers"]) => passkeySite(runtime.settings.public_url(), host);
  return {
    async listEscalations({ caller, query: { limit, cursor, ...filter } }) {
      const { rows, next_cursor } = await listEscalations(runtime, caller, filter, limit ?? pageLimitDefault, cursor);
      return { status: 200, body: { escalations: rows, next_cursor } };
    },
    async getEscalation({ caller, params }) {
      return { status: 200, body: { escalation: await getEscalation(runtime, caller, params.escalation_id) } };
    },
    async decideEscalation({ caller, headers, params, body, idempotency_key }) {
      const { escalation_id } = params;
      const site = () => siteOf(headers);
      const { response, replayed } = await decideEscalation(
        runtime,
        caller,
        escalation_id,
        body,
        idempotency_key,
        site,
      );
      return answerOnce(replayed, { status: 200, body: { escalation: response } });
    },
    async beginConfirmation({ caller, headers, params, body }) {
      const { escalation_id } = params;
      return {
        status: 200,
        body: await beginConfirmation(runtime, caller, escalation_id, body, () => siteOf(headers)),
      };
    },
    async cancelEscalation({ caller, params, body }) {
      return { status: 200, body: { escalation: await cancelEscalation(runtime, caller, params.escalation_id, body) } };
    },
    async withdrawEscalation({ caller, params, body }) {
      return { status: 200, body: { decision: await withdrawEscalation(runtime, caller, params.escalation_id, body) } };
    },
    async revokeApproval({ caller, params, body }) {
      return { status: 200, body: { escalation: await revokeApproval(runtime, caller, params.escalation_id, body) } };
    },
    async reassignEscalation({ caller, params, body }) {
      return {
        status: 200,
        body: { escalation: await reassignEscalation(runtime, caller, params.escalation_id, body) },
      };
    },
    async takeEscalation({ caller, params, body }) {
      return { status: 200, body: { escalation: await takeEscalation(runtime, caller, params.escalation_id, body) } };
    },
    async commentOnEscalation({ caller, params, body }) {
      const { escalation_id } = params;
      const escalation = await commentOnEscalation(runtime, caller, escalation_id, body.comment);
      return { status: 200, body: { escalation } };
    },
    async snoozeEscalation({ caller, params, body }) {
      return { status: 200, body: { escalation: await snoozeEscalation(runtime, caller, params.escalation_id, body) } };
    },
    async getReviewerPace({ caller }) {
      return { status: 200, body: { pace: await readPace(runtime, caller) } };
    },
  };
}
