import Type, { type Static, type TProperties } from "typebox";
import { limits } from "../../limits.ts";
import { id, nullable, oneOf, text, timestamp } from "../shapes.ts";

const count = (description: string) => Type.Integer({ minimum: 0, description });

const PaceFigures = Type.Object(
  {
    rulings: count("reviews with a ruling"),
    approvals: count("of them, approved"),
    fast: count("approvals that were faster than the pace of a rule"),
    approval_share: nullable(Type.Number({ minimum: 0, maximum: 1, description: "null: no ruling" })),
    median_seconds: nullable(
      Type.Number({
        minimum: 0,
        description: "from the first read of a case to the ruling; null: no case was read",
      }),
    ),
  },
  { title: "PaceFigures" },
);
export type PaceFigures = Static<typeof PaceFigures>;

const windows = { last_7_days: PaceFigures, last_30_days: PaceFigures };
const inWindows = <P extends TProperties>(fields: P) => Type.Object({ ...fields, ...windows });

export const ReviewerFigures = oneOf(["person", "team"], {
  description: "person: admins and the person see a person's pace; team: only totals are shown",
});
export type ReviewerFigures = Static<typeof ReviewerFigures>;

export const ReviewerPace = Type.Object(
  {
    level: ReviewerFigures,
    org_id: id("organization"),
    as_of: timestamp(),
    is_complete: Type.Boolean({
      description: `false: only the newest ${limits.pace_rulings_max.toLocaleString("en-US")} rulings are counted`,
    }),
    team: nullable(
      Type.Object(windows, {
        description: "totals of all reviewers: for admins, and with `team` for all reviewers; otherwise null",
      }),
    ),
    people: Type.Array(
      inWindows({
        person: text(limits.label_chars_max, { description: "as in the votes of an escalation" }),
        email: nullable(text(limits.email_chars_max, { description: "null: no account has this id" })),
      }),
      {
        maxItems: limits.people_per_organization_max,
        description: "people with rulings, most rulings first: admins see all, others themselves; empty with `team`",
      },
    ),
  },
  { title: "ReviewerPace" },
);
export type ReviewerPace = Static<typeof ReviewerPace>;
