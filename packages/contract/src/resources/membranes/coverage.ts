import Type, { type Static } from "typebox";
import { limits } from "../../limits.ts";
import { unnamed_agent_id } from "../intent.ts";
import { chosenName, closed, givenId, id, text, timestamp } from "../shapes.ts";

const count = (description: string) => Type.Integer({ minimum: 0, description });
const ruleNames = (description: string) => Type.Array(text(limits.label_chars_max), { description });

/** Which rules cover the actions that agents submitted. */
export const Coverage = Type.Object(
  {
    membrane_id: id("membrane"),
    from: timestamp("31 days before `to`; included"),
    to: timestamp("now; not included"),
    intents: count("the newest intents, which were counted; test mode is excluded"),
    complete: Type.Boolean({ description: "false: older intents of these days were not counted" }),
    every_action: ruleNames("active rules without a type, verb or data class, which cover every action; sorted"),
    actions: Type.Array(
      Type.Object({
        verb: text(limits.verb_chars_max),
        type: text(limits.action_type_chars_max, { description: "by the current action catalogue" }),
        data_classes: Type.Array(text(limits.label_chars_max)),
        count: count("intents of this kind"),
        held: count("intents of this kind that were blocked or escalated, also in shadow mode"),
        rules: ruleNames("active rules that name the type, the verb or one of the data classes; sorted"),
      }),
      {
        maxItems: limits.covered_actions_max,
        description: "kinds without a rule first, then the others; each group by frequency",
      },
    ),
  },
  { title: "Coverage" },
);
export type Coverage = Static<typeof Coverage>;

export const BlockedToolsInput = closed(
  {
    agent_id: chosenName(limits.agent_id_chars_max, `the agent's name; \`${unnamed_agent_id}\` if it has none`),
    verbs: Type.Array(text(limits.verb_chars_max), {
      maxItems: limits.asked_tools_max,
      description: "the tools' names, as `action.verb` of an intent",
    }),
    membrane_id: Type.Optional(givenId("prefix mem_; absent: the default one")),
  },
  { title: "BlockedToolsInput" },
);
export type BlockedToolsInput = Static<typeof BlockedToolsInput>;

/** Tools that no call of the agent can use, whatever its parameters are. */
export const BlockedTools = Type.Object(
  {
    blocked: Type.Array(
      Type.Object({
        verb: text(limits.verb_chars_max, { description: "as asked" }),
        policy: text(limits.label_chars_max, { description: "a rule that blocks it, or `membrane.default_verdict`" }),
      }),
      { description: "in the order of `verbs`; empty in shadow mode" },
    ),
  },
  { title: "BlockedTools" },
);
export type BlockedTools = Static<typeof BlockedTools>;
