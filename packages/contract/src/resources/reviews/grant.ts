import Type, { type Static } from "typebox";
import { limits } from "../../limits.ts";
import {
  closed,
  filledText,
  givenId,
  id,
  listQuery,
  nullable,
  oneOf,
  PipelineMode,
  text,
  timeInput,
  timestamp,
} from "../shapes.ts";

export const GrantBound = closed(
  {
    path: Type.String({
      minLength: 2,
      maxLength: 256,
      pattern: "^/",
      description: "JSON Pointer into payload.content, such as /amount_usd",
    }),
    value: Type.Number({ minimum: 0, description: "the largest value that the grant covers" }),
  },
  { title: "GrantBound" },
);
export type GrantBound = Static<typeof GrantBound>;

/** Which actions a grant covers. All conditions must hold; anything not named is free. */
export const GrantScope = closed(
  {
    agent_id: Type.String({ minLength: 1, maxLength: limits.agent_id_chars_max }),
    verb: Type.String({ minLength: 1, maxLength: limits.verb_chars_max }),
    target: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.target_identifier_chars_max,
        description: "action.target.identifier, letter for letter; absent: any target",
      }),
    ),
    at_most: Type.Optional(
      Type.Array(GrantBound, {
        maxItems: limits.grant_bounds_max,
        description: "a parameter that is missing, negative or not an exact number is never covered",
      }),
    ),
    session_id: Type.Optional(
      Type.String({ minLength: 1, maxLength: limits.label_chars_max, description: "agent.session_id; absent: any" }),
    ),
  },
  { title: "GrantScope" },
);
export type GrantScope = Static<typeof GrantScope>;

export const GrantInput = closed(
  {
    intent_id: givenId("a held action that the grant covers; its rules and its key are those of the grant"),
    scope: GrantScope,
    times: Type.Integer({ minimum: 1, maximum: limits.grant_times_max }),
    until: timeInput("when the grant ends"),
    reason: filledText(limits.comment_chars_max),
  },
  { title: "GrantInput" },
);
export type GrantInput = Static<typeof GrantInput>;

/** A person's approval, in advance, of a limited number of similar actions. See docs/decisions/0045-grants.md. */
export const Grant = Type.Object(
  {
    grant_id: id("grant"),
    intent_id: id("intent"),
    membrane_id: id("membrane"),
    pipeline_mode: PipelineMode,
    action_type: text(limits.action_type_chars_max),
    scope: GrantScope,
    summary: text(4_000, { description: "what the grant allows and what it leaves free, in one or two sentences" }),
    policies: Type.Array(text(limits.label_chars_max), { description: "the rules that the grant covers" }),
    times: Type.Integer({ minimum: 1 }),
    times_used: Type.Integer({ minimum: 0 }),
    status: oneOf(["active", "rule_changed", "spent", "expired", "revoked"], {
      description: "rule_changed: a rule has changed since the grant, so the grant covers nothing",
    }),
    reason: text(limits.comment_chars_max),
    granted_by: text(limits.label_chars_max),
    created_at: timestamp(),
    expires_at: timestamp(),
    revoked_by: nullable(text(limits.label_chars_max)),
    revoked_at: nullable(timestamp()),
  },
  { title: "Grant" },
);
export type Grant = Static<typeof Grant>;

export const GrantUse = Type.Object({ intent_id: id("intent"), at: timestamp() }, { title: "GrantUse" });
export type GrantUse = Static<typeof GrantUse>;

export const GrantQuery = listQuery({
  agent_id: Type.Optional(Type.String({ minLength: 1, maxLength: limits.agent_id_chars_max })),
  live: Type.Optional(oneOf(["true"], { description: "only grants that are neither spent nor expired nor revoked" })),
});
