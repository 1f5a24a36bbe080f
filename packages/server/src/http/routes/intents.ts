import { errorCodes } from "@countersign/contract";
import { claimIntent } from "../../operations/intents/claim-intent.ts";
import { getDecision, getIntent, listIntentAudit, listOwnIntents } from "../../operations/intents/read-intents.ts";
import { recordObservation } from "../../operations/intents/record-observation.ts";
import { type BatchResult, batchTotals, type ItemCheck, submitBatch } from "../../operations/intents/submit-batch.ts";
import { submitIntent } from "../../operations/intents/submit-intent.ts";
import type { Runtime } from "../../operations/runtime.ts";
import { pageLimitDefault } from "../../store/rows/cursor.ts";
import { answerOnce } from "../answer/answer-once.ts";
import { faultOf, faultText } from "../answer/faults.ts";
import type { Handlers, OperationRequest } from "../handler.ts";
import { ClientGone } from "../request/body.ts";

type IntentHandlers = Pick<
  Handlers,
  | "submitIntent"
  | "submitIntentBatch"
  | "listIntents"
  | "getIntent"
  | "getDecision"
  | "listIntentAudit"
  | "claimIntent"
  | "recordObservation"
>;

export function intentRoutes(runtime: Runtime, checkItem: ItemCheck): IntentHandlers {
  return {
    async submitIntent({ caller, body, query, idempotency_key, headers, client_ip }) {
      const agent_token = agentTokenOf(headers);
      const request = { submission: body, mode: query.mode, idempotency_key, agent_token, client_ip, batch_size: 1 };
      const answer = await submitIntent(runtime, caller, request);
      const { intent_id, decision_text, replayed } = answer;
      const json_text = `{"intent_id":"${intent_id}","decision":${decision_text}}`;
      return answerOnce(replayed, { status: 201, json_text, headers: { Location: `/v1/intents/${intent_id}` } });
    },

    async submitIntentBatch({ caller, body, body_bytes, examine, query, request_id, headers, client_ip }) {
      const agent_token = agentTokenOf(headers);
      const batch = { items: body.intents, bytes: body_bytes, examine, mode: query.mode, agent_token, client_ip };
      const results = await submitBatch(runtime, caller, batch, checkItem);
      const faults = results.flatMap((result) => (result.success ? [] : [faultOf(result.error)]));
      for (const { code, cause } of faults) runtime.log.debug({ request_id, code, err: cause }, "batch item refused");
      // One line for each code.
      for (const [code, fault] of new Map(faults.map((fault) => [fault.code, fault])))
        if (errorCodes[code].status >= 500)
          runtime.log.error({ request_id, code, err: fault.cause ?? fault }, "batch items failed");
      const { total, succeeded, failed } = batchTotals(results);
      const texts = results.map((result) => resultText(result, request_id)).join(",");
      return {
        status: 200,
        json_text: `{"results":[${texts}],"total":${total},"succeeded":${succeeded},"failed":${failed}}`,
      };
    },

    async listIntents({ caller, query: { limit, cursor, ...filter } }) {
      const { rows, ...rest } = await listOwnIntents(runtime, caller, filter, limit ?? pageLimitDefault, cursor);
      return { status: 200, body: { intents: rows, ...rest } };
    },

    async getIntent({ caller, params }) {
      return { status: 200, body: await getIntent(runtime, caller, params.intent_id) };
    },

    async getDecision({ caller, params, query: { wait = 0 }, left }) {
      const gone = wait > 0 ? left() : undefined;
      const text = await getDecision(runtime, caller, params.intent_id, wait, gone);
      if (gone?.aborted) throw new ClientGone();
      return { status: 200, json_text: `{"decision":${text}}` };
    },

    async listIntentAudit({ caller, params, query: { limit, cursor } }) {
      const { rows, next_cursor } = await listIntentAudit(
        runtime,
        caller,
        params.intent_id,
        limit ?? pageLimitDefault,
        cursor,
      );
      return { status: 200, body: { audit: rows, next_cursor } };
    },

    async claimIntent({ caller, params, body }) {
      const text = await claimIntent(runtime, caller, params.intent_id, body);
      return { status: 200, json_text: `{"decision":${text}}` };
    },

    async recordObservation({ caller, params, body, idempotency_key }) {
      const { intent_id } = params;
      const { response, replayed } = await recordObservation(runtime, caller, intent_id, body, idempotency_key);
      return answerOnce(replayed, { status: 201, body: { observation: response } });
    },
  };
}

/** Node joins repeated headers to one text, which is no token. */
export function agentTokenOf({ "agent-token": token }: OperationRequest["headers"]): string | undefined {
  return typeof token === "object" ? token.join() : token;
}

function resultText(result: BatchResult, request_id: string): string {
  if (!result.success) return `{"success":false,"error":${faultText(faultOf(result.error), request_id)}}`;
  const { intent_id, decision_text, replayed } = result.answer;
  return `{"success":true,"intent_id":"${intent_id}","decision":${decision_text}${replayed ? ',"replayed":true' : ""}}`;
}
