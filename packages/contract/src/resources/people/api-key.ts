import Type, { type Static } from "typebox";
import { apiKeyFormat } from "../../ids.ts";
import { limits } from "../../limits.ts";
import { roleNames } from "../../roles.ts";
import { chosenName, closed, filledText, givenId, id, nullable, oneOf, text, timeInput, timestamp } from "../shapes.ts";

const agentId = () => chosenName(limits.agent_id_chars_max, "value of agent.id in intents");

const lists = {
  membrane_ids: Type.Array(givenId("prefix mem_"), {
    minItems: 1,
    maxItems: limits.key_bindings_max,
    description: "membranes to which the key may submit",
  }),
  agent_ids: Type.Array(agentId(), {
    minItems: 1,
    maxItems: limits.key_bindings_max,
    description:
      "agents for which the key may submit. Ids are compared in NFKC and without regard to case, as in policies",
  }),
  source_cidrs: Type.Array(filledText(limits.cidr_chars_max), {
    minItems: 1,
    maxItems: limits.key_bindings_max,
    description: "client networks from which the key is accepted, such as 10.1.0.0/16 or 2001:db8::/32",
  }),
};

/** Limits where, and for which agents and membranes, a key may be used. See docs/decisions/0041-keys-that-bind.md. */
export const KeyBindings = Type.Object(
  {
    membrane_ids: nullable(lists.membrane_ids),
    agent_ids: nullable(lists.agent_ids),
    source_cidrs: nullable(lists.source_cidrs),
    forbid_shadow: Type.Boolean({ description: "true: `?mode=shadow` is refused" }),
  },
  { title: "KeyBindings", description: "Limits of a key. A list that is null does not limit the key." },
);
export type KeyBindings = Static<typeof KeyBindings>;

export const KeyBindingsInput = closed(
  {
    membrane_ids: Type.Optional(nullable(lists.membrane_ids)),
    agent_ids: Type.Optional(nullable(lists.agent_ids)),
    source_cidrs: Type.Optional(nullable(lists.source_cidrs)),
    forbid_shadow: Type.Optional(Type.Boolean({ description: "default false" })),
  },
  { title: "KeyBindingsInput" },
);
export type KeyBindingsInput = Static<typeof KeyBindingsInput>;

export const ApiKeyChange = closed(
  { bindings: nullable(KeyBindingsInput) },
  { title: "ApiKeyChange", description: "The new bindings replace all bindings of the key. Null removes all of them." },
);
export type ApiKeyChange = Static<typeof ApiKeyChange>;

export const keyWarnings = {
  unbound:
    "a key of role agent has no bindings, and a membrane is live. So the agent can choose the mode and the membrane",
  admin_submits:
    "a key of role admin submitted actions in the last 30 days. So the program with this key can also change every rule",
  expires_soon: "the key expires within 14 days",
} as const;
export type KeyWarning = keyof typeof keyWarnings;
const keyWarningNames = ["unbound", "admin_submits", "expires_soon"] as const satisfies readonly KeyWarning[];
const describedWarnings = keyWarningNames.map((name) => `${name}: ${keyWarnings[name]}`).join("; ");

export const WarnedKey = Type.Object(
  {
    key_id: id("api_key"),
    name: nullable(text(limits.name_chars_max)),
    role: oneOf(roleNames),
    expires_at: timestamp(),
    warnings: Type.Array(oneOf(keyWarningNames)),
  },
  { title: "WarnedKey" },
);
export type WarnedKey = Static<typeof WarnedKey>;

/** Bindings that would allow a key's recent submissions. */
export const ObservedBindings = Type.Object(
  {
    since: timestamp("decisions from this time on were examined"),
    decisions: Type.Integer({ minimum: 0, description: "number of decisions found for the key and its rotations" }),
    complete: Type.Boolean({
      description: "false: only the newest 50,000 decisions of the organization were examined",
    }),
    bindings: nullable(KeyBindings),
  },
  {
    title: "ObservedBindings",
    description:
      "Bindings with the membranes and agents that appear in the key's decisions. A list that would be too long is null. `bindings` is " +
      "null if the key submitted nothing. `forbid_shadow` is true, except for a key of the environment shadow. `source_cidrs` is null, because client addresses are not stored.",
  },
);
export type ObservedBindings = Static<typeof ObservedBindings>;

/** Give `expires_at` or `expires_in_days`, not both. Scope `agent` requires `agent_id`. */
export const ApiKeyInput = closed(
  {
    name: Type.Optional(filledText(limits.name_chars_max)),
    environment: Type.Optional(oneOf(apiKeyFormat.environments, { description: "default live" })),
    scope: Type.Optional(
      oneOf(apiKeyFormat.scopes, { description: "default org. The scope agent limits the key to the agent agent_id" }),
    ),
    role: Type.Optional(oneOf(roleNames, { description: "default agent" })),
    agent_id: Type.Optional(agentId()),
    bindings: Type.Optional(nullable(KeyBindingsInput)),
    expires_at: Type.Optional(timeInput("must be in the future")),
    expires_in_days: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.api_key_lifetime_days_max })),
  },
  { title: "ApiKeyInput" },
);
export type ApiKeyInput = Static<typeof ApiKeyInput>;

const recordFields = {
  key_id: id("api_key"),
  name: nullable(text(limits.name_chars_max)),
  environment: oneOf(apiKeyFormat.environments),
  scope: oneOf(apiKeyFormat.scopes),
  role: oneOf(roleNames),
  agent_id: nullable(text(limits.agent_id_chars_max)),
  bindings: nullable(KeyBindings),
  created_at: timestamp(),
  expires_at: timestamp("the key is refused from this time on"),
};

export const ApiKey = Type.Object(
  {
    ...recordFields,
    created_by: nullable(
      text(64, {
        description:
          "key_id or user_id of the creator. Null: the key was created by quickstart, on the command line or in open mode",
      }),
    ),
    last_used_at: nullable(
      timestamp("accurate to one minute, and updated some seconds after the use. Null: never used"),
    ),
    revoked_at: nullable(timestamp()),
    rotated_from: nullable(id("api_key")),
    expires_in_days: nullable(
      Type.Integer({
        minimum: 0,
        description: "whole days until the key expires. Null: the key is revoked or expired",
      }),
    ),
    warnings: Type.Array(oneOf(keyWarningNames, { description: describedWarnings }), {
      description: "what an admin should check. Empty for revoked and expired keys",
    }),
  },
  { title: "ApiKey" },
);
export type ApiKey = Static<typeof ApiKey>;

/** Answer to the creation of a key. No later answer shows the full key again. Source: spec §2.2. */
export const ApiKeyCreated = Type.Object({ ...recordFields, api_key: text(256) }, { title: "ApiKeyCreated" });
export type ApiKeyCreated = Static<typeof ApiKeyCreated>;

/** Answer to a rotation, with the new key. The old key is already revoked. Source: spec §4. */
export const ApiKeyRotated = Type.Object(
  {
    key_id: id("api_key"),
    api_key: text(256),
    expires_at: timestamp(),
    rotated_from: id("api_key"),
  },
  { title: "ApiKeyRotated" },
);
export type ApiKeyRotated = Static<typeof ApiKeyRotated>;
