import Type, { type Static } from "typebox";
import { apiKeyFormat } from "../../ids.ts";
import { limits } from "../../limits.ts";
import { roleNames } from "../../roles.ts";
import { chosenName, closed, filledText, id, nullable, oneOf, text, timeInput, timestamp } from "../shapes.ts";

const agentId = () => chosenName(limits.agent_id_chars_max, "the id that intents give as agent.id");

/** Body of POST /v1/api-keys. `expires_at` and `expires_in_days` exclude each other; scope `agent` needs `agent_id`. */
export const ApiKeyInput = closed(
  {
    name: Type.Optional(filledText(limits.name_chars_max)),
    environment: Type.Optional(oneOf(apiKeyFormat.environments, { description: "default live" })),
    scope: Type.Optional(oneOf(apiKeyFormat.scopes, { description: "default org; agent binds the key to agent_id" })),
    role: Type.Optional(oneOf(roleNames, { description: "default agent" })),
    agent_id: Type.Optional(agentId()),
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
