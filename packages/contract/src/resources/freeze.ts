import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";
import { ReviewerFigures } from "./people/pace.ts";
import { chosenName, closed, filledText, givenId, id, nullable, oneOf, text, timestamp } from "./shapes.ts";

export const FreezeMode = oneOf(["block", "escalate"], {
  description: "block: every action is blocked; escalate: every action waits for an admin",
});
export type FreezeMode = Static<typeof FreezeMode>;

export const FreezeKind = oneOf(["agent", "key", "organization"]);
export type FreezeKind = Static<typeof FreezeKind>;

export const FreezeInput = closed(
  {
    mode: FreezeMode,
    reason: filledText(limits.freeze_reason_chars_max, {
      description: "shown to everybody whose action the freeze stops",
    }),
  },
  { title: "FreezeInput" },
);
export type FreezeInput = Static<typeof FreezeInput>;

export const UnfreezeInput = closed({ reason: filledText(limits.freeze_reason_chars_max) }, { title: "UnfreezeInput" });
export type UnfreezeInput = Static<typeof UnfreezeInput>;

/** See docs/decisions/0034-freezes.md. */
export const Freeze = Type.Object(
  {
    kind: FreezeKind,
    name: text(limits.label_chars_max, { description: "the agent_id, key_id or org_id as the caller wrote it" }),
    mode: FreezeMode,
    reason: text(limits.freeze_reason_chars_max),
    frozen_by: text(limits.label_chars_max, { description: "the person or key that set the freeze" }),
    frozen_at: timestamp("start of this mode"),
    closing_reviews: Type.Boolean({
      description: "true: the service is still closing open reviews; nothing is approved meanwhile",
    }),
    unfreeze_requested_by: nullable(
      text(limits.label_chars_max, {
        description: "the person who asked to unfreeze; a second, different person must confirm",
      }),
    ),
    unfreeze_requested_at: nullable(timestamp()),
  },
  { title: "Freeze" },
);
export type Freeze = Static<typeof Freeze>;

export const Unfreezing = Type.Object(
  {
    unfrozen: Type.Boolean({ description: "false: a second, different person must unfreeze the subject, too" }),
    freeze: Freeze,
  },
  { title: "Unfreezing" },
);
export type Unfreezing = Static<typeof Unfreezing>;

export const FreezePreviewQuery = closed({
  kind: FreezeKind,
  agent_id: Type.Optional(chosenName(limits.agent_id_chars_max, "required with the kind agent, refused with others")),
  key_id: Type.Optional(givenId("required with the kind key, refused with others")),
});
export type FreezePreviewQuery = Static<typeof FreezePreviewQuery>;

const count = Type.Integer({ minimum: 0 });

export const FreezePreview = Type.Object(
  {
    decisions_24h: Type.Integer({ minimum: 0, description: "decisions of the last 24 hours, in all modes" }),
    decisions_complete: Type.Boolean({
      description: `false: only the newest ${limits.freeze_preview_decisions_max} decisions of the organization were counted`,
    }),
    open_reviews: count,
    live_overrides: Type.Integer({ minimum: 0, description: "overrides that could still be spent" }),
  },
  { title: "FreezePreview" },
);
export type FreezePreview = Static<typeof FreezePreview>;

export const OrganizationSettings = Type.Object(
  {
    org_id: id("organization"),
    name: text(limits.name_chars_max),
    unfreeze_needs_second_person: Type.Boolean({
      description: "true: a second, different person must confirm each unfreezing",
    }),
    go_live_needs_ready: Type.Boolean({ description: "true: a membrane that is not ready cannot go live" }),
    go_live_needs_name: Type.Boolean({ description: "true: go-live must send the membrane's name" }),
    go_live_needs_second_person: Type.Boolean({
      description:
        "true: a second, different person must confirm go-live and return-to-shadow, and that this setting is switched off",
    }),
    go_live_alone_requested_by: nullable(
      text(limits.label_chars_max, {
        description:
          "the person who asked to switch go_live_needs_second_person off; a second, different person must, too",
      }),
    ),
    second_factor_required: Type.Boolean({
      description: "true: a session without a second factor can only set one up",
    }),
    reviewer_figures: ReviewerFigures,
  },
  { title: "OrganizationSettings" },
);
export type OrganizationSettings = Static<typeof OrganizationSettings>;

export const OrganizationChange = Type.Object(
  {
    unfreeze_needs_second_person: Type.Optional(Type.Boolean()),
    go_live_needs_ready: Type.Optional(Type.Boolean()),
    go_live_needs_name: Type.Optional(Type.Boolean()),
    go_live_needs_second_person: Type.Optional(Type.Boolean()),
    second_factor_required: Type.Optional(Type.Boolean()),
    reviewer_figures: Type.Optional(ReviewerFigures),
  },
  { title: "OrganizationChange", additionalProperties: false, minProperties: 1 },
);
export type OrganizationChange = Static<typeof OrganizationChange>;
