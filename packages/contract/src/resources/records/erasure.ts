import Type, { type Static } from "typebox";
import { limits } from "../../limits.ts";
import { closed, filledText, id, listQuery, nullable, oneOf, text, timestamp } from "../shapes.ts";

export const subjectKinds = ["agent", "person", "session", "target", "value"] as const;

export const SubjectKind = oneOf(subjectKinds, {
  description:
    "agent: agent.id; person: agent.on_behalf_of; session: agent.session_id; target: action.target.identifier; value: any text with " +
    `this part, letter for letter, of at least ${limits.erased_value_chars_min} characters`,
});
export type SubjectKind = Static<typeof SubjectKind>;

const count = (description: string) => Type.Integer({ minimum: 0, description });

export const ErasureCounts = Type.Object(
  {
    intents: count("decisions that lose what they were about"),
    entries: count("other entries of the ledger that lose their data"),
    reviews: count("reviews that lose their content, comments and changes"),
    overrides: count("overrides that lose their reason; active ones are revoked"),
    grants: count("grants that lose their scope and reason; active ones are revoked"),
    answers: count("stored answers for Idempotency-Key"),
    backtests: count("kept backtests that are deleted, because they name the subject"),
    counters: count("counters that lose the text of their key, and count on"),
    facts: count("stored facts of agents and targets"),
    addresses: count("addresses of removed people, and intakes"),
    deliveries: count("deliveries that lose their body; pending ones are cancelled"),
    held: count("decisions that legal holds keep"),
  },
  { title: "ErasureCounts" },
);
export type ErasureCounts = Static<typeof ErasureCounts>;

export const Erasure = Type.Object(
  {
    erasure_id: nullable(id("erasure")),
    kind: oneOf(["intent", ...subjectKinds]),
    subject_sha256: nullable(
      text(64, { description: "SHA-256 in hex of `subject_salt` followed by the subject. Null: a dry run" }),
    ),
    subject_salt: Type.Optional(
      text(32, {
        description: "only in the answer to the request. The service keeps no copy. Proves of whom the erasure was",
      }),
    ),
    status: oneOf(["dry_run", "running", "done"]),
    progress: Type.Number({ minimum: 0, maximum: 1 }),
    counts: ErasureCounts,
    requested_by: text(limits.label_chars_max),
    created_at: timestamp(),
    done_at: nullable(timestamp()),
  },
  { title: "Erasure" },
);
export type Erasure = Static<typeof Erasure>;

export const ErasureQuery = closed({
  dry_run: Type.Optional(oneOf(["true"], { description: "only count. Absent: erase" })),
});

export const ErasureListQuery = listQuery({});

const days = (description: string) =>
  nullable(Type.Integer({ minimum: 1, maximum: limits.retention_days_max, description }));

export const Retention = closed(
  {
    content_days: days(
      "days until decisions lose what they were about: intent, facts, reviews, comments. Open reviews wait. Null: for ever",
    ),
    failed_deliveries_days: days("days until failed deliveries lose their body. Null: for ever"),
    facts_days: days("days until stored facts of agents and targets are deleted. Null: for ever"),
  },
  { title: "Retention" },
);
export type Retention = Static<typeof Retention>;

export const RetentionAnswer = Type.Object(
  {
    retention: Retention,
    due: Type.Object(
      {
        decisions: count("decisions older than their time, with content"),
        held: count("of them, on legal hold"),
        failed_deliveries: count("failed deliveries older than their time, with a body"),
        facts: count("stored facts older than their time"),
        more: Type.Boolean({ description: `true: there are more than ${limits.retention_counted_max} of a kind` }),
      },
      { description: "what these days remove now. The service removes it page by page, each minute" },
    ),
  },
  { title: "RetentionAnswer" },
);
export type RetentionAnswer = Static<typeof RetentionAnswer>;

export const RetentionQuery = closed({
  dry_run: Type.Optional(
    oneOf(["true"], { description: "only count what these days would remove. Absent: save them" }),
  ),
});

export const LegalHoldInput = closed(
  {
    kind: oneOf(["all", "intent", ...subjectKinds], { description: "all: everything of the organization" }),
    subject: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.target_identifier_chars_max,
        description: "what is on hold, as in the path of an erasure; only absent for `all`",
      }),
    ),
    reason: filledText(limits.comment_chars_max),
  },
  { title: "LegalHoldInput" },
);
export type LegalHoldInput = Static<typeof LegalHoldInput>;

export const LegalHold = Type.Object(
  {
    hold_id: id("legal_hold"),
    kind: LegalHoldInput.properties.kind,
    subject: nullable(text(limits.target_identifier_chars_max)),
    reason: text(limits.comment_chars_max),
    placed_by: text(limits.label_chars_max),
    placed_at: timestamp(),
  },
  { title: "LegalHold" },
);
export type LegalHold = Static<typeof LegalHold>;

export const subjectParams = closed({
  kind: Type.String({ minLength: 1, maxLength: limits.id_chars_max, description: subjectKinds.join(", ") }),
  subject: Type.String({
    minLength: 1,
    maxLength: limits.target_identifier_chars_max,
    description: "the agent, person, session, target or text",
  }),
});
