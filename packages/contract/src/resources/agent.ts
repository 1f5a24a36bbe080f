import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";
import { roleNames } from "../roles.ts";
import type { Verdict } from "./decision.ts";
import { Freeze } from "./freeze.ts";
import { chosenName, closed, filledText, id, listQuery, nullable, oneOf, text, timestamp } from "./shapes.ts";

const agentId = () => text(limits.agent_id_chars_max);
const count = () => Type.Integer({ minimum: 0 });

/** Body of PUT /v1/agents/{agent_id}. A missing field is cleared. */
export const AgentInput = closed(
  {
    owner: Type.Optional(nullable(filledText(limits.name_chars_max, { description: "who answers for the agent" }))),
    purpose: Type.Optional(nullable(filledText(limits.agent_purpose_chars_max))),
    parent_id: Type.Optional(
      nullable(
        chosenName(
          limits.agent_id_chars_max,
          `the agent above this one, which the register must have already; at most ${limits.agents_above_max} agents above an agent`,
        ),
      ),
    ),
  },
  { title: "AgentInput" },
);
export type AgentInput = Static<typeof AgentInput>;

/** See docs/decisions/0043-agents.md. */
export const RegisteredAgent = Type.Object(
  {
    agent_id: text(limits.agent_id_chars_max, {
      description: "as first written; spellings with another case or width are the same agent",
    }),
    owner: nullable(text(limits.name_chars_max)),
    purpose: nullable(text(limits.agent_purpose_chars_max)),
    parent_id: nullable(text(limits.agent_id_chars_max, { description: "the agent above this one" })),
    registered_by: nullable(
      text(limits.label_chars_max, { description: "who registered it last; null: it is known from its actions only" }),
    ),
    registered_at: nullable(timestamp()),
    first_seen_at: nullable(timestamp("its first decision; null: it has not acted")),
    last_seen_at: nullable(timestamp("its newest decision, up to a minute late")),
    status: oneOf(["active", "frozen"]),
    freezes: Type.Array(Type.Pick(Freeze, ["kind", "name", "mode", "reason", "frozen_by", "frozen_at"]), {
      description: "what stops its actions: freezes of the agent, of agents above it and of the organization",
    }),
  },
  { title: "RegisteredAgent" },
);
export type RegisteredAgent = Static<typeof RegisteredAgent>;

/** A row of GET /v1/agents. */
export const ListedAgent = Type.Object(
  {
    ...RegisteredAgent.properties,
    days: Type.Array(Type.Object({ decisions: count(), held: count() }), {
      minItems: 7,
      maxItems: 7,
      description:
        "the last seven days (UTC) with today, oldest first, without test mode. `held`: blocked or escalated",
    }),
    open_reviews: Type.Integer({ minimum: 0, description: "reviews in live mode that wait for people" }),
    budget: nullable(
      Type.Object(
        {
          counter: text(limits.label_chars_max, { description: "the name in policies: count.<name>" }),
          field: oneOf(["sum", "n"], { description: "what the limit is compared with" }),
          limit: Type.Number(),
          left: Type.Number({ minimum: 0 }),
        },
        { description: "the live budget of any membrane of which the smallest share is left; null: none" },
      ),
    ),
    uncovered_tools: Type.Integer({
      minimum: 0,
      description: `tools that no rule in force names, among the newest ${limits.agent_tools_read_max} actions of these days`,
    }),
  },
  { title: "ListedAgent" },
);
export type ListedAgent = Static<typeof ListedAgent>;

export const AgentListQuery = listQuery({
  prefix: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.agent_id_chars_max,
      description: "how the agent_id begins, in any case",
    }),
  ),
});

const AgentActivity = Type.Object(
  {
    from: timestamp(),
    to: timestamp(),
    decisions: count(),
    complete: Type.Boolean({
      description: `false: there are more; the newest ${limits.agent_decisions_read_max} decisions were counted`,
    }),
    verdicts: Type.Object(
      Object.fromEntries(
        ["approve", "approve_modified", "escalate", "block"].map((verdict) => [verdict, count()]),
      ) as Record<Static<typeof Verdict>, ReturnType<typeof count>>,
    ),
    risk: nullable(
      Type.Object({ average: Type.Number(), highest: Type.Number() }, { description: "null: there are no decisions" }),
    ),
    tools: Type.Array(
      Type.Object({
        verb: text(limits.verb_chars_max),
        count: count(),
        named: Type.Boolean({ description: "false: no rule in force names the tool or its type" }),
      }),
      { description: "used most first, at most 100" },
    ),
  },
  { title: "AgentActivity" },
);

export const AgentDetails = Type.Object(
  {
    ...RegisteredAgent.properties,
    ancestors: Type.Array(agentId(), { description: "the registered agents above it, the nearest first" }),
    children: Type.Array(agentId(), { description: "the agents registered directly below it, at most 100" }),
    activity: AgentActivity,
    keys: Type.Array(
      Type.Object({
        key_id: id("api_key"),
        name: nullable(text(limits.name_chars_max)),
        role: oneOf(roleNames),
      }),
      { description: "keys that are bound to this agent or to an agent above it, newest first; revoked ones left out" },
    ),
    open_reviews: Type.Object({
      count: count(),
      limit: Type.Integer({ description: "at this number, further actions that need a review are refused" }),
      escalation_ids: Type.Array(id("escalation"), { description: "the newest, at most 20" }),
    }),
  },
  { title: "AgentDetails" },
);
export type AgentDetails = Static<typeof AgentDetails>;
