import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";
import { id, text, timestamp } from "./shapes.ts";

const count = (description: string) => Type.Integer({ minimum: 0, description });
const ruleNames = (description: string) => Type.Array(text(limits.label_chars_max), { description });

/** Which rules look at what agents asked a membrane for. */
export const Coverage = Type.Object(
  {
    membrane_id: id("membrane"),
    from: timestamp("31 days before `to`; included"),
    to: timestamp("now; not included"),
    intents: count("intents that were looked at, the newest; those in test mode are left out"),
    complete: Type.Boolean({ description: "false: there are older ones in these days that were not looked at" }),
    every_action: ruleNames("rules in force that go by no type, verb or data class: they look at every action; sorted"),
    actions: Type.Array(
      Type.Object({
        verb: text(limits.verb_chars_max),
        type: text(limits.action_type_chars_max, { description: "after the action catalogue as it is now" }),
        data_classes: Type.Array(text(limits.label_chars_max)),
        count: count("intents of this kind"),
        held: count("of them, blocked or escalated when they were decided, in shadow mode too"),
        rules: ruleNames(
          "rules in force that name the type, the verb or one of the data classes, whatever else they look at; sorted",
        ),
      }),
      {
        maxItems: limits.covered_actions_max,
        description: "first those that no rule names; of these and of the others the most frequent first",
      },
    ),
  },
  { title: "Coverage" },
);
export type Coverage = Static<typeof Coverage>;
