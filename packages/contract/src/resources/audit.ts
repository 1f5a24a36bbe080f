import Type, { type Static } from "typebox";
import { type AuditType, auditTypes } from "../audit-types.ts";
import { Actor, anyObject, id, listQuery, nullable, oneOf, text, timeInput, timestamp } from "./shapes.ts";

/** One row of the append-only audit trail. Source: api.md §4, architecture.md §6. */
export const AuditRecord = Type.Object(
  {
    audit_id: id("audit"),
    seq: Type.Integer({ minimum: 1, description: "place in the organization's trail: 1, 2, 3 … without a gap" }),
    type: oneOf(Object.keys(auditTypes) as AuditType[]),
    actor: Actor,
    at: timestamp(),
    data: anyObject(
      "of `decided`, record_sha256 is the SHA-256 in hex over the stored texts of intent, facts and decision with U+001E " +
        "between them; of `reviewed`, `timed_out` and `cancelled`, over what the review changed in the decision and its record",
    ),
    intent_id: id("intent"),
    hash: text(64, {
      description:
        "SHA-256 in hex over the canonical JSON (RFC 8785) of {actor, at, audit_id, data, intent_id, type}, where actor is " +
        'the text actor.id, or "system" where that is null',
    }),
  },
  { title: "AuditRecord" },
);
export type AuditRecord = Static<typeof AuditRecord>;

/** One row of the organization's trail, which also holds what hangs on no intent. */
export const OrgAuditRecord = Type.Object(
  {
    ...AuditRecord.properties,
    intent_id: nullable(id("intent")),
    root: nullable(
      text(64, {
        description:
          "where a commit ended with this row, the chain's root: SHA-256 in hex over the root before (at first 32 zero bytes) and " +
          "the hashes of the commit's rows in order, as bytes; null: the commit goes on with the next row",
      }),
    ),
  },
  { title: "OrgAuditRecord" },
);
export type OrgAuditRecord = Static<typeof OrgAuditRecord>;

/** Filters of GET /v1/audit. `from` is included, `to` is not. */
export const AuditListQuery = listQuery({
  type: Type.Optional(oneOf(Object.keys(auditTypes) as AuditType[])),
  actor: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: "key_id or user_id" })),
  from: Type.Optional(timeInput("happened at or after")),
  to: Type.Optional(timeInput("happened before")),
});
