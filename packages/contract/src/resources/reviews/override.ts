import Type, { type Static } from "typebox";
import { limits } from "../../limits.ts";
import { closed, filledText, id, nullable, oneOf, text, timestamp } from "../shapes.ts";

export const OverrideInput = closed({ reason: filledText(limits.comment_chars_max) }, { title: "OverrideInput" });
export type OverrideInput = Static<typeof OverrideInput>;

/** A person's approval of a blocked action: once, for a retry within 24 hours. */
export const Override = Type.Object(
  {
    override_id: id("override"),
    intent_id: id("intent"),
    decision_id: id("decision"),
    agent_id: text(limits.agent_id_chars_max),
    status: oneOf(["pending_second", "active", "consumed", "expired", "revoked"]),
    reason: text(limits.comment_chars_max),
    approved_by: text(limits.label_chars_max),
    seconded_by: nullable(text(limits.label_chars_max, { description: "the second person, if a policy requires two" })),
    approved_at: nullable(timestamp("null: waits for a second person")),
    expires_at: nullable(timestamp()),
    policies_overridden: Type.Array(text(limits.label_chars_max)),
    consumed_by: nullable(id("intent")),
  },
  { title: "Override" },
);
export type Override = Static<typeof Override>;
