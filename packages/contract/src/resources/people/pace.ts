import Type, { type Static, type TProperties } from "typebox";
import { limits } from "../../limits.ts";
import { id, nullable, oneOf, text, timestamp } from "../shapes.ts";

const count = (description: string) => Type.Integer({ minimum: 0, description });

const PaceFigures = Type.Object(
  {
    rulings: count("reviews that were ruled on"),
    approvals: count("of them, approved"),
    fast: count("of them, approved faster than the pace of a rule"),
    approval_share: nullable(Type.Number({ minimum: 0, maximum: 1, description: "null: no ruling" })),
    median_seconds: nullable(
      Type.Number({
        minimum: 0,
        description: "from the first look at a case to the ruling; null: no case was looked at",
      }),
    ),
  },
  { title: "PaceFigures" },
);
export type PaceFigures = Static<typeof PaceFigures>;

const windows = { last_7_days: PaceFigures, last_30_days: PaceFigures };
const inWindows = <P extends TProperties>(fields: P) => Type.Object({ ...fields, ...windows });

/** Whose figures of pace people see: each person's, or only those of all reviewers together. */
export const ReviewerFigures = oneOf(["person", "team"], {
  description: "whose pace is shown: each person's to admins and to the person, or the team's totals only",
});
export type ReviewerFigures = Static<typeof ReviewerFigures>;

/** How fast reviewers rule, and how much they approve. */
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
        description: "all reviewers together: for admins, and at the level `team` for all reviewers; else null",
      }),
    ),
    people: Type.Array(
      inWindows({
        person: text(limits.label_chars_max, { description: "as in the votes of an escalation" }),
        email: nullable(text(limits.email_chars_max, { description: "null: no account has this id" })),
      }),
      {
        maxItems: limits.people_per_organization_max,
        description:
          "those who ruled, most rulings first: for admins all, for others only themselves; at the level `team` nobody",
      },
    ),
  },
  { title: "ReviewerPace" },
);
export type ReviewerPace = Static<typeof ReviewerPace>;
