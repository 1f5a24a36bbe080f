import Type, { type Static } from "typebox";
import { limits } from "../../limits.ts";
import { closed, filledText, givenId, listQuery, nullable, oneOf, PipelineMode, text, timestamp } from "../shapes.ts";

const amount = (description: string) => Type.Number({ description });

const membrane = givenId("prefix mem_; default: the default membrane");
const mode = oneOf(["live", "shadow", "test"], { description: "default: live" });
const kind = oneOf(["reset", "grant"], {
  description:
    "reset: earlier actions count no more, except those that wait for people. grant: the key has more until the window ends",
});

/** A change of a counter that waits for a second person. */
const CounterRequest = Type.Object(
  {
    kind,
    amount: nullable(Type.Number()),
    actions: nullable(Type.Integer()),
    by: text(limits.label_chars_max, { description: "the person who asked; a second, different person must confirm" }),
    at: timestamp(),
  },
  { title: "CounterRequest" },
);
export type CounterRequest = Static<typeof CounterRequest>;

const CounterWindow = Type.Unsafe<
  string | { readonly calendar: "hour" | "day" | "week" | "month"; readonly zone?: string }
>(
  Type.Union(
    [
      text(limits.label_chars_max, { description: "a sliding window such as 24h" }),
      Type.Object({
        calendar: oneOf(["hour", "day", "week", "month"]),
        zone: Type.Optional(text(64, { description: "an IANA time zone; default: UTC" })),
      }),
    ],
    { description: "as in the policies" },
  ),
);

const CounterLimit = Type.Object(
  {
    policy: text(limits.label_chars_max, { description: "its name" }),
    policy_mode: oneOf(["live", "shadow"]),
    field: oneOf(["sum", "n"], { description: "what the policy compares with the limit" }),
    limit: Type.Number(),
  },
  { title: "CounterLimit" },
);

/** One key of a counter of a policy, as it counts now. */
export const Counter = Type.Object(
  {
    name: text(limits.label_chars_max, { description: "the name in policies: count.<name>" }),
    key: Type.Array(Type.Unknown(), { description: "the values of the key, with texts in lower case" }),
    pipeline_mode: PipelineMode,
    agent_id: nullable(
      text(limits.agent_id_chars_max, { description: "of the action that began the key; null: a grant began it" }),
    ),
    n: Type.Integer({ description: "actions that count, with the waiting ones, minus granted_n; may be below 0" }),
    sum: nullable(amount("minus granted_sum; null: an action without a usable amount counts")),
    waiting_n: Type.Integer({ description: "actions that wait for people" }),
    waiting_sum: nullable(amount("of the actions that wait for people")),
    granted_n: Type.Integer({ description: "further actions that people granted in this window" }),
    granted_sum: amount("the further amount that people granted in this window"),
    since: timestamp("the beginning of the window"),
    last_at: nullable(timestamp("of the latest action")),
    window: CounterWindow,
    value: nullable(
      text(16_384, { description: "the CEL expression of the amount, as in the policies; null: each action counts 1" }),
    ),
    limits: Type.Array(CounterLimit, {
      description:
        "the numbers that policies in force compare this counter with, smallest first. A limit that depends on the action is not listed",
    }),
    requested: nullable(CounterRequest),
  },
  { title: "Counter" },
);
export type Counter = Static<typeof Counter>;

export const CounterQuery = listQuery({
  membrane_id: Type.Optional(membrane),
  mode: Type.Optional(mode),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: "the name in policies" })),
  agent_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: limits.agent_id_chars_max, description: "an agent in the key" }),
  ),
});
export type CounterQuery = Static<typeof CounterQuery>;

export const CounterAdjustmentInput = closed(
  {
    membrane_id: Type.Optional(membrane),
    mode: Type.Optional(mode),
    key: Type.Array(Type.Unknown(), {
      minItems: 1,
      maxItems: 4,
      description: "the values of the key, as the list of counters has them; the case of a text does not matter",
    }),
    kind,
    amount: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: limits.counter_grant_amount_max,
        description: "for a grant: how much more, with at most six decimals",
      }),
    ),
    actions: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.counter_grant_actions_max,
        description: "for a grant: how many more actions",
      }),
    ),
    reason: filledText(limits.comment_chars_max),
  },
  { title: "CounterAdjustmentInput" },
);
export type CounterAdjustmentInput = Static<typeof CounterAdjustmentInput>;

export const CounterAdjustment = Type.Object(
  {
    adjusted: Type.Boolean({ description: "false: a second, different person must send the same request, too" }),
    counter: Counter,
  },
  { title: "CounterAdjustment" },
);
export type CounterAdjustment = Static<typeof CounterAdjustment>;
