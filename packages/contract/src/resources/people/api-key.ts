import Type, { type Static } from "typebox";
import { apiKeyFormat } from "../../ids.ts";
import { limits } from "../../limits.ts";
import { roleNames } from "../../roles.ts";
import { chosenName, closed, filledText, givenId, id, nullable, oneOf, text, timeInput, timestamp } from "../shapes.ts";

const agentId = () => chosenName(limits.agent_id_chars_max, "the agent.id of intents");

const lists = {
  membrane_ids: Type.Array(givenId("prefix mem_"), {
    minItems: 1,
    maxItems: limits.key_bindings_max,
    description: "the membranes that the key may submit to",
  }),
  agent_ids: Type.Array(agentId(), {
    minItems: 1,
    maxItems: limits.key_bindings_max,
    description: "the agents that the key may submit for, compared in NFKC and without case, as in policies",
  }),
  source_cidrs: Type.Array(filledText(limits.cidr_chars_max), {
    minItems: 1,
    maxItems: limits.key_bindings_max,
    description: "the networks that every request with the key must come from, such as 10.1.0.0/16 or 2001:db8::/32",
  }),
};

/** See docs/decisions/0041-keys-that-bind.md. */
export const KeyBindings = Type.Object(
  {
    membrane_ids: nullable(lists.membrane_ids),
    agent_ids: nullable(lists.agent_ids),
    source_cidrs: nullable(lists.source_cidrs),
    forbid_shadow: Type.Boolean({ description: "true: `?mode=shadow` is refused" }),
  },
  { title: "KeyBindings", description: "Null in place of a list: no such binding." },
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
  { title: "ApiKeyChange", description: "The bindings replace all old ones. Null removes all bindings." },
);
export type ApiKeyChange = Static<typeof ApiKeyChange>;

export const keyWarnings = {
  unbound: "an agent's key without bindings while a membrane is live: the agent can choose the mode and the membrane",
  admin_submits: "an admin's key that submitted actions in the last 30 days: its holder can change every rule",
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
    since: timestamp("start of the examined decisions"),
    decisions: Type.Integer({ minimum: 0, description: "found decisions of the key and its rotations" }),
    complete: Type.Boolean({
      description: "false: only the newest 50,000 decisions of the organization were examined",
    }),
    bindings: nullable(KeyBindings),
  },
  {
    title: "ObservedBindings",
    description:
      "The membranes and agents of the decisions. A list is null if it would be too long; `bindings` is null if the key submitted " +
      "nothing. `forbid_shadow` is true, except for a key of the environment shadow. Addresses are not stored, so there are no networks.",
  },
);
export type ObservedBindings = Static<typeof ObservedBindings>;

/** `expires_at` and `expires_in_days` exclude each other; scope `agent` needs `agent_id`. */
export const ApiKeyInput = closed(
  {
    name: Type.Optional(filledText(limits.name_chars_max)),
    environment: Type.Optional(oneOf(apiKeyFormat.environments, { description: "default live" })),
    scope: Type.Optional(oneOf(apiKeyFormat.scopes, { description: "default org; agent binds the key to agent_id" })),
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
  expires_at: timestamp("from this time on the key is refused"),
};

export const ApiKey = Type.Object(
  {
    ...recordFields,
    created_by: nullable(text(64, { description: "key_id or user_id; null: quickstart, command line or open mode" })),
    last_used_at: nullable(timestamp("to the minute, stored some seconds later; null: not used")),
    revoked_at: nullable(timestamp()),
    rotated_from: nullable(id("api_key")),
    expires_in_days: nullable(
      Type.Integer({ minimum: 0, description: "remaining whole days; null: revoked or expired" }),
    ),
    warnings: Type.Array(oneOf(keyWarningNames, { description: describedWarnings }), {
      description: "warnings for admins; empty for revoked or expired keys",
    }),
  },
  { title: "ApiKey" },
);
export type ApiKey = Static<typeof ApiKey>;

/** The only answer with the full key. Source: spec §2.2. */
export const ApiKeyCreated = Type.Object({ ...recordFields, api_key: text(256) }, { title: "ApiKeyCreated" });
export type ApiKeyCreated = Static<typeof ApiKeyCreated>;

/** The old key is already revoked. Source: spec §4. */
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
