import Type, { type Static } from "typebox";
import { type AuditType, auditTypes } from "../audit-types.ts";
import { limits } from "../limits.ts";
import { Erased } from "./records/erased.ts";
import { Actor, anyObject, id, listed, listQuery, nullable, oneOf, text, timeInput, timestamp } from "./shapes.ts";

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
    erased: Type.Optional(Erased),
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
    about: Type.Optional(
      Type.Object(
        {
          agent_id: text(limits.agent_id_chars_max),
          type: text(limits.action_type_chars_max, { description: "the action type that the decision used" }),
          verb: text(limits.verb_chars_max),
          target: nullable(text(limits.target_identifier_chars_max)),
          amount_usd: nullable(Type.Number({ description: "estimated_impact.financial_exposure_usd" })),
        },
        {
          description:
            "the action of the intent, without redacted and masked values; absent: no intent, or a long page",
        },
      ),
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

export const AuditList = Type.Object({
  ...listed("audit", OrgAuditRecord).properties,
  searched_to: Type.Optional(
    timestamp(
      "The search stopped here, because it had read as many entries as one request may. No record is missing after this time. " +
        "`next_cursor` continues. Absent: the page is full, or the search is complete.",
    ),
  ),
});

const searched = (max: number, what: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: max, description: `${what}; a search, see \`searched_to\`` }));

/** `from` is included, `to` is not. */
export const AuditListQuery = listQuery({
  type: Type.Optional(oneOf(Object.keys(auditTypes) as AuditType[])),
  actor: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: "key_id or user_id" })),
  by: searched(
    limits.email_chars_max,
    "a part of the name or address of the person, or of the name of the key, that acted; at most " +
      `${limits.audit_actors_max} people and keys may match`,
  ),
  agent_id: searched(limits.agent_id_chars_max, "records about this agent's intents, and changes of the agent"),
  action: searched(limits.action_type_chars_max, "records about intents with this verb or action type"),
  policy: searched(
    limits.label_chars_max,
    "a policy's name or id: records about intents that it stopped or changed, and changes of the policy",
  ),
  text: searched(200, "a part of the record's data, or of the agent, action or target of its intent"),
  from: Type.Optional(timeInput("happened at or after")),
  to: Type.Optional(timeInput("happened before")),
});
