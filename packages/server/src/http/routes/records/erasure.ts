import type { Erasure } from "@countersign/contract";
import { createLegalHold, listLegalHolds, releaseLegalHold } from "../../../operations/erasure/legal-holds.ts";
import { getErasure, listErasures } from "../../../operations/erasure/read-erasures.ts";
import { eraseIntent, eraseSubject } from "../../../operations/erasure/request-erasure.ts";
import { getRetention, putRetention } from "../../../operations/erasure/retention.ts";
import type { Runtime } from "../../../operations/runtime.ts";
import { pageLimitDefault } from "../../../store/rows/cursor.ts";
import { answerOnce } from "../../answer/answer-once.ts";
import type { Handlers } from "../../handler.ts";

type ErasureHandlers = Pick<
  Handlers,
  | "eraseSubject"
  | "eraseIntent"
  | "listErasures"
  | "getErasure"
  | "getRetention"
  | "putRetention"
  | "createLegalHold"
  | "listLegalHolds"
  | "deleteLegalHold"
>;

export function erasureRoutes(runtime: Runtime): ErasureHandlers {
  const answer = (erasure: Erasure) =>
    ({ status: erasure.status === "running" ? 202 : 200, body: { erasure } }) as const;
  return {
    async eraseSubject({ caller, params, query: { dry_run } }) {
      return answer(await eraseSubject(runtime, caller, params, dry_run === "true"));
    },
    async eraseIntent({ caller, params, query: { dry_run } }) {
      return answer(await eraseIntent(runtime, caller, params.intent_id, dry_run === "true"));
    },
    async listErasures({ caller, query: { limit = pageLimitDefault, cursor } }) {
      const { rows, next_cursor } = await listErasures(runtime, caller, limit, cursor);
      return { status: 200, body: { erasures: rows, next_cursor } };
    },
    async getErasure({ caller, params }) {
      return { status: 200, body: { erasure: await getErasure(runtime, caller, params.erasure_id) } };
    },
    async getRetention({ caller }) {
      return { status: 200, body: await getRetention(runtime, caller) };
    },
    async putRetention({ caller, body, query: { dry_run } }) {
      return { status: 200, body: await putRetention(runtime, caller, body, dry_run === "true") };
    },
    async createLegalHold({ caller, body, idempotency_key }) {
      const { response, replayed } = await createLegalHold(runtime, caller, body, idempotency_key);
      return answerOnce(replayed, { status: 201, body: { legal_hold: response } });
    },
    async listLegalHolds({ caller, query: { limit = pageLimitDefault, cursor } }) {
      const { rows, next_cursor } = await listLegalHolds(runtime, caller, limit, cursor);
      return { status: 200, body: { legal_holds: rows, next_cursor } };
    },
    async deleteLegalHold({ caller, params }) {
      await releaseLegalHold(runtime, caller, params.hold_id);
      return { status: 204 };
    },
  };
}
