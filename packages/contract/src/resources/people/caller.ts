import Type, { type Static } from "typebox";
import { apiKeyFormat } from "../../ids.ts";
import { limits } from "../../limits.ts";
import { roleNames } from "../../roles.ts";
import { id, nullable, oneOf, text } from "../shapes.ts";

/** Tells a client which operations to offer. */
export const CallerInfo = Type.Object(
  {
    type: oneOf(["key", "user", "open_mode"]),
    id: nullable(text(limits.label_chars_max, { description: "key_id or user_id; null in open mode" })),
    person: text(limits.label_chars_max, {
      description: "the person behind the caller, as in votes and approvals: all keys of one maker are one person",
    }),
    org_id: id("organization"),
    org_name: text(limits.name_chars_max),
    role: oneOf(roleNames),
    scope: oneOf(apiKeyFormat.scopes),
    agent_id: nullable(text(limits.agent_id_chars_max, { description: "the only agent that the key may act for" })),
    environment: oneOf(apiKeyFormat.environments),
    second_factor_missing: Type.Boolean({
      description: "true: the organization requires a second factor, and this session can only set one up",
    }),
  },
  { title: "CallerInfo" },
);
export type CallerInfo = Static<typeof CallerInfo>;
