import Type, { type Static } from "typebox";
import { limits } from "../../limits.ts";
import { givenId, nullable, oneOf, text, timestamp } from "../shapes.ts";

export const attentionKinds = [
  "executed_although_blocked",
  "due_soon",
  "no_reviewers",
  "missing_fact",
  "uncovered_tool",
  "deliveries_failing",
  "log_stopped",
  "stream_behind",
  "failed_mail",
] as const;

const AttentionRule = Type.Object({
  policy_id: nullable(text(limits.label_chars_max, { description: "null: the membrane or a freeze" })),
  policy: text(limits.label_chars_max),
});

export const AttentionItem = Type.Object(
  {
    kind: oneOf(attentionKinds, {
      description:
        "executed_although_blocked: reports of actions that were not approved, of the last 7 days. " +
        `due_soon: open reviews that end within ${limits.attention_due_minutes} minutes. ` +
        "no_reviewers: a live rule with too few people who may approve. " +
        "missing_fact: open reviews that wait only because facts are missing, this one among them. " +
        "uncovered_tool: open reviews of a tool that no rule approves, so that the membrane's default verdict holds it. " +
        "deliveries_failing: failed deliveries of a webhook in the last 24 hours. " +
        "log_stopped: no checkpoint of the log is signed, because entries under an earlier one are missing or changed. " +
        `stream_behind: a stream to a store is over ${limits.stream_behind_seconds / 60} minutes behind. ` +
        "failed_mail: mails of the service wait for over ten minutes",
    }),
    count: nullable(
      Type.Integer({
        minimum: 0,
        description: "how many reviews, reports or deliveries have this cause; null: not counted",
      }),
    ),
    at_least: Type.Boolean({ description: "true: there are more than `count`" }),
    since: nullable(timestamp("the oldest of them; null: not known")),
    what: text(limits.webhook_url_chars_max, {
      description:
        "the fact, tool, rule, agent, stream or address; for due_soon, log_stopped and failed_mail a word for the kind",
    }),
    message: text(limits.comment_chars_max, { description: "what happened, in one or two sentences" }),
    rules: Type.Array(AttentionRule, {
      maxItems: limits.attention_rules_max,
      description: "the rules that wait, for no_reviewers and missing_fact; else empty",
    }),
    escalation_id: Type.Optional(givenId("a review with this cause: the first to end")),
    intent_id: Type.Optional(givenId("the newest reported action")),
    membrane_id: Type.Optional(givenId("the membrane of the rule or tool")),
    webhook_id: Type.Optional(givenId("the webhook")),
    stream_id: Type.Optional(givenId("the stream")),
    agent_id: Type.Optional(text(limits.agent_id_chars_max, { description: "the agent that reported" })),
  },
  { title: "AttentionItem" },
);
export type AttentionItem = Static<typeof AttentionItem>;

export const Attention = Type.Object(
  {
    items: Type.Array(AttentionItem, {
      maxItems: limits.attention_items_max,
      description: "in the order of their kinds; those of a kind by count",
    }),
  },
  { title: "Attention" },
);
export type Attention = Static<typeof Attention>;
