import Type, { type Static } from "typebox";
import { type AuditType, auditTypes } from "../audit-types.ts";
import { Actor, anyObject, id, listQuery, nullable, oneOf, text, timeInput, timestamp } from "./shapes.ts";

export const AuditRecord = Type.Object(
  {
    audit_id: id("audit"),
    seq: Type.Integer({ minimum: 1, description: "number in the organization's trail: 1, 2, 3 … without a gap" }),
    type: oneOf(Object.keys(auditTypes) as AuditType[]),
    actor: Actor,
    at: timestamp(),
    data: anyObject(
      "for `reviewed`, `timed_out` and `cancelled`, record_sha256 is the SHA-256 in hex over the stored texts of the review's changes to " +
        "the decision and of the review's record, with U+001E between them",
    ),
    intent_id: id("intent"),
    hash: text(64, {
      description:
        "the hash of the record's ledger entry: SHA-256 in hex over a zero byte and the entry's leaf. Records of " +
        "one decision have the same",
    }),
  },
  { title: "AuditRecord" },
);
export type AuditRecord = Static<typeof AuditRecord>;

/** A record of the organization's trail, which includes changes without an intent. */
export const OrgAuditRecord = Type.Object(
  {
    ...AuditRecord.properties,
    intent_id: nullable(id("intent")),
    entry: Type.Integer({
      minimum: 0,
      description:
        "index of the entry in the organization's ledger: 0, 1, 2 … without a gap; a decision's records share one",
    }),
    leaf: text(1_000, {
      description:
        "the hashed text: canonical JSON (RFC 8785) of the entry's plain members and of the commitments to its documents. " +
        "A commitment is the SHA-256 in hex over the salt's hex digits and the document's text",
    }),
    salt: nullable(
      text(32, {
        description:
          "the salt of `data` in hex; the text of `data` is its canonical JSON (RFC 8785). Null: a decision's record, whose leaf commits to " +
          "intent, facts and decision",
      }),
    ),
    root: nullable(
      text(64, {
        description:
          "the chain's root, if a commit ended with this record: SHA-256 in hex over the previous root (at first 32 zero bytes) and " +
          "the hashes of the commit's entries in order, as bytes. Null: the commit continues with the next record",
      }),
    ),
  },
  { title: "OrgAuditRecord" },
);
export type OrgAuditRecord = Static<typeof OrgAuditRecord>;

/** `from` is included, `to` is not. */
export const AuditListQuery = listQuery({
  type: Type.Optional(oneOf(Object.keys(auditTypes) as AuditType[])),
  actor: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: "key_id or user_id" })),
  from: Type.Optional(timeInput("happened at or after")),
  to: Type.Optional(timeInput("happened before")),
});
