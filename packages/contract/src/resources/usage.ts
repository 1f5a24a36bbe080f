import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";
import { nullable, text, timestamp } from "./shapes.ts";

/** Usage in this calendar month (UTC). Only live decisions count. */
export const Usage = Type.Object(
  {
    plan_id: text(limits.label_chars_max),
    period_start: timestamp(),
    period_end: timestamp("the first moment of the next period"),
    included_actions: nullable(Type.Integer({ minimum: 0 })),
    used_actions: Type.Integer({ minimum: 0 }),
    hard_limit: nullable(Type.Integer({ minimum: 0, description: "null: unlimited" })),
    batch_size: nullable(
      Type.Integer({ minimum: 0, description: "intents in the submission that reached the limit; null: not reached" }),
    ),
    months: Type.Array(
      Type.Object({
        month: text(7, { description: "YYYY-MM, in UTC" }),
        used_actions: Type.Integer({ minimum: 0 }),
      }),
      {
        description:
          "the newest 12 months, oldest first, from the first one with a live decision; the last is this month",
      },
    ),
  },
  { title: "Usage" },
);
export type Usage = Static<typeof Usage>;
