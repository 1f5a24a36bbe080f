import Type, { type Static, type TProperties } from "typebox";
import { type FactCategoryName, factCategoryNames } from "../../facts/index.ts";
import { idPattern } from "../../ids.ts";
import { limits } from "../../limits.ts";
import { roleMeets, roleNames } from "../../roles.ts";
import { PolicyDiagnostic } from "../policy.ts";
import { chosenName, closed, factsFrom, filledText, id, nullable, oneOf, text, timestamp } from "../shapes.ts";
import { NotReady } from "./membrane-readiness.ts";

/** JSON types of a tool's parameters, as in JSON Schema. */
export const parameterTypeNames = ["string", "number", "integer", "boolean", "array", "object"] as const;
const ParameterType = oneOf(parameterTypeNames);
export type ParameterType = Static<typeof ParameterType>;

/** A verb of the action catalogue: the real type of a tool, whatever an agent declares. */
export const CatalogueEntry = closed(
  {
    verb: chosenName(limits.verb_chars_max, "the tool's name in any case"),
    type: Type.String({
      maxLength: limits.action_type_chars_max,
      pattern: "^[a-z][a-z0-9_-]*(\\.[a-z0-9_-]+)*$",
    }),
    data_classes: Type.Array(Type.String({ minLength: 1, maxLength: limits.label_chars_max }), {
      maxItems: limits.data_classes_max,
    }),
    parameters: Type.Optional(
      Type.Record(Type.String({ pattern: `^[\\s\\S]{1,${limits.label_chars_max}}$` }), ParameterType, {
        maxProperties: limits.tool_parameters_max,
        additionalProperties: false,
        description:
          "JSON types of members of payload.content, from the tool's input schema. A value of another type is unknown to " +
          "policies, and so is a comparison with a value of another type. absent: no types are known",
      }),
    ),
    party: Type.Optional(
      filledText(limits.label_chars_max, {
        description:
          "the parameter that names the other party, such as `payee`, or `payee.email` inside an object. This person " +
          "cannot be the only approver of the action",
      }),
    ),
  },
  { title: "CatalogueEntry" },
);
export type CatalogueEntry = Static<typeof CatalogueEntry>;

/** A person, or everyone with a role. The id may be unknown, because policies name it. */
export const Reviewer = closed(
  {
    type: oneOf(["user", "role"]),
    id: Type.String({ minLength: 1, maxLength: limits.label_chars_max, description: "user_id, or the role's name" }),
  },
  { title: "Reviewer" },
);
export type Reviewer = Static<typeof Reviewer>;

/** A reviewer of a membrane or a reassignment: a role that may decide, or a user_id or key_id. */
export const NamedReviewer = Type.Unsafe<Reviewer>(
  Type.Union(
    [
      closed({ type: oneOf(["role"]), id: oneOf(roleNames.filter((name) => roleMeets(name, ["reviewer"]))) }),
      closed({
        type: oneOf(["user"]),
        id: Type.String({ pattern: `${idPattern("user")}|${idPattern("api_key")}`, maxLength: 40 }),
      }),
    ],
    { title: "NamedReviewer" },
  ),
);

/** How fast approvals may be without a typed reason. */
export const Pace = closed(
  {
    min_seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.pace_min_seconds_max,
        description: "an approval earlier than this after the case was shown to the reviewer needs a reason",
      }),
    ),
    reason_from: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.pace_reason_from_max,
        description:
          "the first approval of one reviewer within five minutes that needs a reason; 10: the tenth and each further one",
      }),
    ),
  },
  { title: "Pace", description: "faster approvals need a typed reason or a second person" },
);
export type Pace = Static<typeof Pace>;

/** In their strength: a passkey also serves where a code is asked for. */
export const confirmKinds = ["totp", "passkey"] as const;
export const Confirm = oneOf(confirmKinds, {
  description:
    "how each reviewer confirms the ruling. passkey: signs it with a passkey. totp: enters a code of the authenticator, or signs",
});
export type Confirm = Static<typeof Confirm>;

/** The strictest of several; null: none asks. */
export function strictestConfirm(asked: readonly (Confirm | null | undefined)[]): Confirm | null {
  return confirmKinds.findLast((each) => asked.includes(each)) ?? null;
}

const share = () => nullable(Type.Number({ minimum: 0, maximum: 1, description: "risk score; null: never" }));
const maxAge = () =>
  Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.facts_max_age_seconds_max,
      description: "seconds; absent: the default",
    }),
  );

const thresholds = { escalate_at: share(), block_at: share() };
const thresholds_text = "risk scores from which the verdict is at least escalate, or at least block";

const escalation = {
  timeout_seconds: Type.Integer({ minimum: 1, maximum: limits.escalation_timeout_seconds_max }),
  on_timeout: oneOf(["block", "approve"]),
  approval_valid_seconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.approval_valid_seconds_max,
      description: `lifetime of an approval by people; absent: ${limits.approval_valid_seconds_default}`,
    }),
  ),
  reviewers: Type.Array(NamedReviewer, { maxItems: limits.escalation_reviewers_max }),
  quorum: Type.Integer({ minimum: 1, maximum: limits.escalation_quorum_max }),
  pace: Type.Optional(nullable(Pace)),
  confirm: Type.Optional(nullable(Confirm)),
  party_needs_another: Type.Optional(
    Type.Boolean({
      description:
        "true or absent: the person in on_behalf_of, or in the catalogue's `party` parameter, cannot " +
        "be the only approver of the action, except in solo mode",
    }),
  ),
};

const agentToken = {
  required: Type.Boolean({ description: "true: a request without an Agent-Token counts as one with an invalid token" }),
  on_invalid: oneOf(["refuse", "unknown"], {
    description:
      "refuse: an invalid token is 400 invalid_agent_token. unknown: the facts that the token should prove are unknown with the " +
      "reason untrusted_token, and the rules decide",
  }),
  once: Type.Boolean({ description: "true: a token counts once, by its `jti`; a token without `jti` is invalid" }),
};
const agent_token_text = "what the membrane asks of the Agent-Token header";

const settingFields = {
  name: filledText(limits.name_chars_max),
  default_verdict: oneOf(["approve", "escalate", "block"], {
    description: "the verdict if no policy fires; no verdict is less strict",
  }),
  thresholds: closed(thresholds, { description: thresholds_text }),
  packs: Type.Array(Type.String({ pattern: "^[a-z][a-z0-9-]*$", maxLength: 64 }), { maxItems: 100, uniqueItems: true }),
  rules_off: Type.Array(Type.String({ pattern: "^[a-z][a-z0-9._-]*$", maxLength: limits.label_chars_max }), {
    maxItems: limits.rules_off_max,
    uniqueItems: true,
    description: "names of rules of packs that are off here, although their pack is on",
  }),
  action_catalogue: Type.Array(CatalogueEntry, { maxItems: limits.action_catalogue_max }),
  facts_max_age: closed(
    Object.fromEntries(factCategoryNames.map((name) => [name, maxAge()])) as Record<
      FactCategoryName,
      ReturnType<typeof maxAge>
    >,
    { description: "seconds after which a category's facts count as missing" },
  ),
  facts_from: factsFrom(
    "the lowest assurance that counts, by category or by fact, such as entity_state.account_balance_usd; a fact below it is unknown " +
      "with the reason untrusted_source if it would permit an action. A policy can require more",
  ),
  agent_token: closed(agentToken, { description: agent_token_text }),
  escalation: closed(escalation),
};

export const RequestedMove = Type.Object(
  {
    to: oneOf(["live", "shadow"]),
    reason: nullable(text(limits.comment_chars_max)),
    requested_by: text(limits.label_chars_max, {
      description: "the person; a second, different person must send the same",
    }),
    requested_at: timestamp(
      `the request ends ${limits.membrane_request_hours} hours later, or with a change of the membrane`,
    ),
  },
  { title: "RequestedMove", description: "a move that waits for a second person" },
);
export type RequestedMove = Static<typeof RequestedMove>;

export const Membrane = Type.Object(
  {
    membrane_id: id("membrane"),
    status: oneOf(["draft", "shadow", "live"]),
    is_default: Type.Boolean({ description: "the membrane for intents that name none; one per organization" }),
    ...settingFields,
    requested_move: nullable(RequestedMove),
    created_at: timestamp(),
  },
  { title: "Membrane" },
);
export type Membrane = Static<typeof Membrane>;

const partOf = <P extends TProperties>(fields: P) => Type.Partial(Type.Object(fields)).properties;

export const MembraneSaved = Type.Object(
  {
    membrane: Membrane,
    warnings: Type.Array(PolicyDiagnostic, {
      description:
        "the rules of the given packs and the live policies that match one action can exhaust the budget of a decision " +
        "together. It names the most expensive, and does not refuse the change",
    }),
  },
  { title: "MembraneSaved" },
);
export type MembraneSaved = Static<typeof MembraneSaved>;

const moved = Type.Boolean({
  description: "false: the organization wants two people, so a second, different person must send the same request",
});

export const GoLiveInput = closed(
  {
    name: Type.Optional(
      filledText(limits.name_chars_max, {
        description: "the membrane's name, to confirm that this one is meant; required by go_live_needs_name",
      }),
    ),
    reason: Type.Optional(filledText(limits.comment_chars_max, { description: "why; kept in the audit trail" })),
  },
  { title: "GoLiveInput" },
);
export type GoLiveInput = Static<typeof GoLiveInput>;

export const ReturnToShadowInput = closed(
  {
    reason: filledText(limits.comment_chars_max, {
      description: "why; kept in the audit trail, and mailed to all admins",
    }),
  },
  { title: "ReturnToShadowInput" },
);
export type ReturnToShadowInput = Static<typeof ReturnToShadowInput>;

export const MembraneReturned = Type.Object({ membrane: Membrane, moved }, { title: "MembraneReturned" });
export type MembraneReturned = Static<typeof MembraneReturned>;

export const MembraneLive = Type.Object(
  {
    membrane: Membrane,
    moved,
    not_ready: Type.Array(NotReady, {
      description:
        "why the membrane was not ready, see GET …/readiness; empty: it was. The membrane goes live nevertheless, " +
        "except with go_live_needs_ready",
    }),
    next_steps: Type.Array(text(1_000), {
      description:
        "facts that were missing in shadow in the last 31 days, keys that should be bound, and what to do about them",
    }),
  },
  { title: "MembraneLive" },
);
export type MembraneLive = Static<typeof MembraneLive>;

export const SomeThresholds = closed(partOf(thresholds), { description: thresholds_text });

const { name, ...optionalSettings } = partOf({
  ...settingFields,
  thresholds: SomeThresholds,
  action_catalogue: Type.Array(
    closed({
      ...CatalogueEntry.properties,
      data_classes: Type.Optional({ ...CatalogueEntry.properties.data_classes, default: [] }),
    }),
    { maxItems: limits.action_catalogue_max },
  ),
  agent_token: closed(partOf(agentToken), { description: agent_token_text }),
  escalation: closed(partOf(escalation)),
});

/** Missing fields, also of thresholds and escalation, get the default. New membranes are in shadow mode. */
export const MembraneInput = closed({ name: settingFields.name, ...optionalSettings }, { title: "MembraneInput" });
export type MembraneInput = Static<typeof MembraneInput>;

/** Each given field, and each member of thresholds and escalation, replaces the old value. */
export const MembraneChange = closed({ name, ...optionalSettings }, { title: "MembraneChange" });
export type MembraneChange = Static<typeof MembraneChange>;
