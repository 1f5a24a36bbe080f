/** The body of a vote, and its confirmation (docs/decisions/0067-signed-rulings.md). */
import Type, { type Static } from "typebox";
import { limits } from "../../limits.ts";
import { Outcome } from "../decision.ts";
import { anyObject, closed, oneOf, plainText, text } from "../shapes.ts";

/** Exactly one of the two. */
export const ConfirmationProof = closed(
  {
    passkey: Type.Optional(
      anyObject("the answer of navigator.credentials.get, in its JSON form, to the options of /confirmation"),
    ),
    totp: Type.Optional(text(64, { description: "a code of the authenticator that was not used before" })),
  },
  { title: "ConfirmationProof", description: "exactly one of the two" },
);
export type ConfirmationProof = Static<typeof ConfirmationProof>;

export const reviewedModification = closed({
  op: oneOf(["add", "remove", "replace"]),
  path: text(1_000),
  value: Type.Optional(Type.Unknown()),
});

/** `modifications` with approve_modified only. */
export const RulingInput = closed(
  {
    outcome: Outcome,
    comment: Type.Optional(text(limits.comment_chars_max, { description: "for people; agents do not see it" })),
    message_to_agent: Type.Optional(
      plainText(
        limits.comment_chars_max,
        "for the agent and its model, in the final decision. Line ends and tabs are the only control characters",
      ),
    ),
    second_person: Type.Optional(
      Type.Boolean({
        description:
          "true: an approval that is faster than the pace of a rule and has no reason counts, and the rule's panel needs one more person",
      }),
    ),
    modifications: Type.Optional(
      Type.Array(reviewedModification, {
        maxItems: 100,
        description:
          "changes to payload.content. A change may give a value another JSON type only if a policy demands that type; a null " +
          "counts as missing",
      }),
    ),
    confirmation: Type.Optional(ConfirmationProof),
  },
  { title: "RulingInput" },
);
export type RulingInput = Static<typeof RulingInput>;

/** Body of /confirmation: the vote that the person is about to send. */
export const ConfirmationInput = closed(
  { outcome: Outcome, modifications: RulingInput.properties.modifications },
  { title: "ConfirmationInput" },
);
export type ConfirmationInput = Static<typeof ConfirmationInput>;

export const Confirmation = Type.Object(
  {
    ruling: text(2_000, {
      description: "canonical JSON (RFC 8785) of the ruling. The challenge in `options` is its SHA-256",
    }),
    options: anyObject("options for the browser's navigator.credentials.get, as JSON"),
  },
  { title: "Confirmation" },
);
export type Confirmation = Static<typeof Confirmation>;
