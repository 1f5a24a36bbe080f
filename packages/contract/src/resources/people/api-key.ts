import Type, { type Static } from "typebox";
import { apiKeyFormat } from "../../ids.ts";
import { limits } from "../../limits.ts";
import { roleNames } from "../../roles.ts";
import { chosenName, closed, filledText, givenId, id, nullable, oneOf, text, timeInput, timestamp } from "../shapes.ts";

const agentId = () => chosenName(limits.agent_id_chars_max, "the id that intents give as agent.id");

const lists = {
  membrane_ids: Type.Array(givenId("prefix mem_"), {
    minItems: 1,
    maxItems: limits.key_bindings_max,
    description: "the membranes that it may submit to",
  }),
  agent_ids: Type.Array(agentId(), {
    minItems: 1,
    maxItems: limits.key_bindings_max,
    description: "the agents that it may submit for, compared as policies compare them: by NFKC and without case",
  }),
  source_cidrs: Type.Array(filledText(limits.cidr_chars_max), {
    minItems: 1,
    maxItems: limits.key_bindings_max,
    description: "the networks that every request with the key must come from, such as 10.1.0.0/16 or 2001:db8::/32",
  }),
};

/** What a key is bound to. Source: docs/decisions/0041. */
export const KeyBindings = Type.Object(
  {
    membrane_ids: nullable(lists.membrane_ids),
    agent_ids: nullable(lists.agent_ids),
    source_cidrs: nullable(lists.source_cidrs),
    forbid_shadow: Type.Boolean({ description: "true: `?mode=shadow` is refused" }),
  },
  { title: "KeyBindings", description: "Null for a list: the key is not bound in this way." },
);
export type KeyBindings = Static<typeof KeyBindings>;

/** The same as requests give it. */
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

/** Body of PATCH /v1/api-keys/{key_id}. */
export const ApiKeyChange = closed(
  { bindings: nullable(KeyBindingsInput) },
  { title: "ApiKeyChange", description: "The bindings replace the old ones as a whole; null: the key is unbound." },
);
export type ApiKeyChange = Static<typeof ApiKeyChange>;

/** What an admin should do something about. */
export const keyWarnings = {
  unbound: "an agent's key that is bound to nothing, while a membrane is live: it can choose how it is judged",
  admin_submits: "an admin's key that submitted actions in the last 30 days: whoever has it can change every rule",
  expires_soon: "the key expires within 14 days",
} as const;
export type KeyWarning = keyof typeof keyWarnings;
const keyWarningNames = ["unbound", "admin_submits", "expires_soon"] as const satisfies readonly KeyWarning[];
const describedWarnings = keyWarningNames.map((name) => `${name}: ${keyWarnings[name]}`).join("; ");

/** A key with a warning, as the overview names it. */
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

/** What a key was used for lately, as the bindings that would have allowed it. */
export const ObservedBindings = Type.Object(
  {
    since: timestamp("decisions since then were looked at"),
    decisions: Type.Integer({ minimum: 0, description: "decisions of the key and of its rotations that were found" }),
    complete: Type.Boolean({
      description: "false: the organization made so many decisions that only the newest 50,000 were looked at",
    }),
    bindings: nullable(KeyBindings),
  },
  {
    title: "ObservedBindings",
    description:
      "The membranes and agents of the decisions. A list is null where there were too many; `bindings` is null if the key submitted " +
      "nothing. `forbid_shadow` is true, except for a key of the environment shadow. Addresses are not kept, so there are no networks.",
  },
);
export type ObservedBindings = Static<typeof ObservedBindings>;

/** Body of POST /v1/api-keys. `expires_at` and `expires_in_days` exclude each other; scope `agent` needs `agent_id`. */
export const ApiKeyInput = closed(
  {
    name: Type.Optional(filledText(limits.name_chars_max)),
    environment: Type.Optional(oneOf(apiKeyFormat.environments, { description: "default live" })),
    scope: Type.Optional(oneOf(apiKeyFormat.scopes, { description: "default org; agent binds the key to agent_id" })),
    role: Type.Optional(oneOf(roleNames, { description: "default agent" })),
    agent_id: Type.Optional(agentId()),
    bindings: Type.Optional(nullable(KeyBindingsInput)),
    expires_at: Type.Optional(timeInput("must lie in the future")),
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
  expires_at: timestamp("once reached, the key is rejected"),
};

/** A key as listings show it: never with its text. */
export const ApiKey = Type.Object(
  {
    ...recordFields,
    created_by: nullable(text(64, { description: "key_id or user_id; null: quickstart, command line or open mode" })),
    last_used_at: nullable(timestamp("to the minute, noted some seconds later; null until then")),
    revoked_at: nullable(timestamp()),
    rotated_from: nullable(id("api_key")),
    expires_in_days: nullable(
      Type.Integer({ minimum: 0, description: "whole days that are left; null: revoked or expired" }),
    ),
    warnings: Type.Array(oneOf(keyWarningNames, { description: describedWarnings }), {
      description: "what an admin should do something about; empty for keys that are revoked or expired",
    }),
  },
  { title: "ApiKey" },
);
export type ApiKey = Static<typeof ApiKey>;

/** The one answer that shows a new key in full. Source: contract §2.2, api.md §3. */
export const ApiKeyCreated = Type.Object({ ...recordFields, api_key: text(256) }, { title: "ApiKeyCreated" });
export type ApiKeyCreated = Static<typeof ApiKeyCreated>;

/** Answer of a rotation; the old key is revoked already. Source: contract §4. */
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
