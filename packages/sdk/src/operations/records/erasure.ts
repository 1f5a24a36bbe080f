import type {
  Erasure,
  LegalHold,
  LegalHoldInput,
  Retention,
  RetentionAnswer,
  SubjectKind,
} from "@countersign/contract";
import { newIdempotencyKey } from "../../idempotency-key.ts";
import type { Page, PageQuery } from "../../page.ts";
import type { Transport } from "../../transport.ts";

export interface ErasureOptions {
  /** Only count. */
  readonly dry_run?: "true";
}

export function erasureCalls(call: Transport) {
  return {
    /** Erases what the records say about a subject. A large erasure answers `running` and goes on. */
    eraseSubject: async (kind: SubjectKind, subject: string, query: ErasureOptions = {}) => {
      const path = `/v1/subjects/${encodeURIComponent(kind)}/${encodeURIComponent(subject)}`;
      return (await call<{ erasure: Erasure }>("DELETE", path, { query: { ...query } })).erasure;
    },

    /** Erases what one intent was about. */
    eraseIntent: async (intent_id: string, query: ErasureOptions = {}) => {
      const path = `/v1/intents/${encodeURIComponent(intent_id)}/content`;
      return (await call<{ erasure: Erasure }>("DELETE", path, { query: { ...query } })).erasure;
    },

    /** Lists erasures, newest first. */
    listErasures: (query: PageQuery = {}) =>
      call<Page<"erasures", Erasure>>("GET", "/v1/erasures", { query: { ...query } }),

    /** Returns the progress of an erasure. */
    getErasure: async (erasure_id: string) =>
      (await call<{ erasure: Erasure }>("GET", `/v1/erasures/${encodeURIComponent(erasure_id)}`)).erasure,

    /** Returns how long records keep their content, and what is due. */
    getRetention: () => call<RetentionAnswer>("GET", "/v1/retention"),

    /** Sets how long records keep their content. */
    putRetention: (body: Retention, query: ErasureOptions = {}) =>
      call<RetentionAnswer>("PUT", "/v1/retention", { body, query: { ...query } }),

    /** Puts records on legal hold. */
    createLegalHold: async (input: LegalHoldInput) => {
      const options = { body: input, idempotency_key: newIdempotencyKey() };
      return (await call<{ legal_hold: LegalHold }>("POST", "/v1/legal-holds", options)).legal_hold;
    },

    /** Lists legal holds, newest first. */
    listLegalHolds: (query: PageQuery = {}) =>
      call<Page<"legal_holds", LegalHold>>("GET", "/v1/legal-holds", { query: { ...query } }),

    /** Releases a legal hold. */
    deleteLegalHold: (hold_id: string) => call<null>("DELETE", `/v1/legal-holds/${encodeURIComponent(hold_id)}`),
  };
}
