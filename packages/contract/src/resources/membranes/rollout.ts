import Type, { type Static } from "typebox";
import { limits } from "../../limits.ts";
import { closed, filledText, id, nullable, oneOf, text, timestamp } from "../shapes.ts";

export const RolloutStage = closed(
  {
    share: Type.Number({ exclusiveMinimum: 0, maximum: 1, description: "of the registered agents on bound keys" }),
    decisions_min: Type.Integer({
      minimum: 0,
      maximum: limits.rollout_decisions_max,
      description: "live decisions that the stage must see",
    }),
    hours_min: Type.Integer({
      minimum: 0,
      maximum: limits.rollout_hours_max,
      description: "hours that it lasts at least",
    }),
  },
  { title: "RolloutStage" },
);
export type RolloutStage = Static<typeof RolloutStage>;

const shareMax = (description: string) => Type.Number({ minimum: 0, maximum: 1, description });
const guardFields = {
  holds_per_day_max: Type.Number({
    exclusiveMinimum: 0,
    maximum: 1_000_000,
    description: "actions held for people, a day",
  }),
  overridden_share_max: shareMax("of the blocks: those that people override"),
  timed_out_share_max: shareMax("of the closed reviews: those that timed out"),
};

export const RolloutGuard = closed(guardFields, { title: "RolloutGuard" });
export type RolloutGuard = Static<typeof RolloutGuard>;

export const RolloutInput = closed(
  {
    stages: Type.Optional(
      Type.Array(RolloutStage, {
        minItems: 1,
        maxItems: limits.rollout_stages_max,
        description: "each with a greater share than the one before; absent: 5 %, 25 % and 100 %",
      }),
    ),
    guard: Type.Optional(closed(Type.Partial(Type.Object(guardFields)).properties)),
    advances_itself: Type.Optional(
      Type.Boolean({
        description: "true: the next stage begins when a stage is complete; false or absent: a person begins it",
      }),
    ),
    returns_holds_itself: Type.Optional(
      Type.Boolean({
        description:
          "true: when the guard finds too many holds or time-outs, it returns the holds of this stage to shadow; false or absent: only " +
          "people go back. Blocks, holds of rules that block or that nobody may override, and actions that count in a limit are never returned",
      }),
    ),
  },
  { title: "RolloutInput" },
);
export type RolloutInput = Static<typeof RolloutInput>;

export const RolloutReason = closed({ reason: filledText(limits.freeze_reason_chars_max) }, { title: "RolloutReason" });
export type RolloutReason = Static<typeof RolloutReason>;

export const RolloutAdvance = closed(
  {
    reason: Type.Optional(
      filledText(limits.freeze_reason_chars_max, { description: "required if the rollout was stopped" }),
    ),
  },
  { title: "RolloutAdvance" },
);
export type RolloutAdvance = Static<typeof RolloutAdvance>;

export const RolloutReturn = closed(
  {
    stage: Type.Integer({
      minimum: 1,
      maximum: limits.rollout_stages_max,
      description: "an earlier stage; 1 is the first",
    }),
    reason: filledText(limits.freeze_reason_chars_max),
  },
  { title: "RolloutReturn" },
);
export type RolloutReturn = Static<typeof RolloutReturn>;

export const rolloutLimits = ["holds_per_day_max", "overridden_share_max", "timed_out_share_max"] as const;

export const RolloutBreach = Type.Object(
  { limit: oneOf(rolloutLimits), message: text(1_000) },
  { title: "RolloutBreach" },
);
export type RolloutBreach = Static<typeof RolloutBreach>;

const count = (description?: string) => Type.Integer({ minimum: 0, ...(description !== undefined && { description }) });
const end = Type.Number({ minimum: 0, description: "end of the interval, 95 % sure at all times" });
const towards_stop = Type.Number({
  minimum: 0,
  maximum: 1,
  description: "how far the evidence has come that the limit is broken; at 1 the guard stops the rollout",
});
const ShareSeen = Type.Object(
  { count: count(), of: count(), low: end, high: end, towards_stop },
  { title: "ShareSeen" },
);

export const Rollout = Type.Object(
  {
    membrane_id: id("membrane"),
    status: oneOf(["waiting", "running", "stopped", "arrived"], {
      description:
        "waiting: the membrane is in shadow. stopped: by the guard or a person. arrived: all agents are enforced",
    }),
    stages: Type.Array(RolloutStage),
    stage: Type.Integer({ minimum: 1, description: "the present one; 1 is the first" }),
    share: Type.Number({
      minimum: 0,
      maximum: 1,
      description: "of the registered agents on bound keys that is enforced",
    }),
    guard: RolloutGuard,
    advances_itself: Type.Boolean(),
    returns_holds_itself: Type.Boolean(),
    holds_share: Type.Number({
      minimum: 0,
      maximum: 1,
      description:
        "of the registered agents on bound keys, those that are also held; below `share` after the guard returned holds",
    }),
    complete: Type.Boolean({ description: "true: the stage has seen enough decisions and lasted long enough" }),
    agents: Type.Object({
      registered: count("registered agents"),
      enforced: count("registered agents whose actions are enforced on any key"),
    }),
    figures: Type.Object(
      {
        days: Type.Number({ minimum: 0 }),
        decisions: count("live decisions"),
        holds: Type.Object(
          { count: count(), low: end, high: nullable(end), towards_stop },
          { description: "the interval is a day's" },
        ),
        overridden: ShareSeen,
        timed_out: ShareSeen,
      },
      {
        description:
          "of the membrane, since the stage began; as of the last look of the guard. `overridden` is of the blocks, `timed_out` of the closed reviews",
      },
    ),
    breaches: Type.Array(RolloutBreach, { description: "limits that stopped the rollout; empty: none did" }),
    requested_return: nullable(
      Type.Object(
        {
          stage: Type.Integer({ minimum: 1 }),
          reason: text(limits.freeze_reason_chars_max),
          requested_by: text(limits.label_chars_max),
          requested_at: timestamp(),
        },
        { description: "a return that waits for a second person" },
      ),
    ),
    created_by: text(limits.label_chars_max, { description: "user_id or key_id" }),
    created_at: timestamp(),
    stage_at: nullable(timestamp("when the stage began to count; null: not yet")),
  },
  { title: "Rollout" },
);
export type Rollout = Static<typeof Rollout>;
