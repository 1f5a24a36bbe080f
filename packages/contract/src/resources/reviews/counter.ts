import Type, { type Static } from "typebox";
import { limits } from "../../limits.ts";
import { givenId, listQuery, nullable, oneOf, PipelineMode, text, timestamp } from "../shapes.ts";

const amount = (description: string) => Type.Number({ description });

/** One key of a counter of a policy, as it counts now. */
export const Counter = Type.Object(
  {
    name: text(limits.label_chars_max, { description: "the name in policies: count.<name>" }),
    key: Type.Array(Type.Unknown(), { description: "the values of the key, with texts in lower case" }),
    pipeline_mode: PipelineMode,
    agent_id: text(limits.agent_id_chars_max, { description: "of the first action" }),
    n: Type.Integer({ description: "actions that count, with the waiting ones" }),
    sum: nullable(amount("null: an action without a usable amount counts")),
    waiting_n: Type.Integer({ description: "actions that wait for people" }),
    waiting_sum: nullable(amount("of the actions that wait for people")),
    since: timestamp("the beginning of the window"),
    last_at: nullable(timestamp("of the latest action")),
  },
  { title: "Counter" },
);
export type Counter = Static<typeof Counter>;

export const CounterQuery = listQuery({
  membrane_id: Type.Optional(givenId("prefix mem_; default: the default membrane")),
  mode: Type.Optional(oneOf(["live", "shadow", "test"], { description: "default: live" })),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: "the name in policies" })),
  agent_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: limits.agent_id_chars_max, description: "an agent in the key" }),
  ),
});
export type CounterQuery = Static<typeof CounterQuery>;
