import Type, { type Static } from "typebox";
import { closed, id, nullable, oneOf, text } from "../shapes.ts";

export const receiptFormats = ["json", "tlog-proof"] as const;

export const ReceiptQuery = closed({
  format: Type.Optional(
    oneOf(receiptFormats, {
      description:
        "tlog-proof: the C2SP tlog-proof text of the decision's entry. Default: tlog-proof if the request prefers text/plain (Accept), else json",
    }),
  ),
});
export type ReceiptQuery = Static<typeof ReceiptQuery>;

const hash = (description?: string) => text(44, description === undefined ? {} : { description });

const Document = nullable(
  Type.Object({
    salt: text(32, { description: "16 bytes in hex" }),
    text: Type.String({ description: "JSON; the entry commits to SHA-256 over the salt's hex digits and this text" }),
  }),
);

const ReceiptEntry = Type.Object({
  index: Type.Integer({ minimum: 0, description: "of the leaf in the log" }),
  leaf: text(2_000, { description: "canonical JSON (RFC 8785) of the entry with the commitments to its documents" }),
  proof: Type.Array(hash(), {
    maxItems: 64,
    description: "hashes of the inclusion proof (RFC 9162 §2.1.3), in base64",
  }),
  documents: Type.Object(
    { intent: Type.Optional(Document), facts: Type.Optional(Document), data: Document },
    {
      description:
        "those that the leaf commits to. Null: erased, or withheld because a rule redacts or masks a value in it; leaf and proof hold",
    },
  ),
});

/** The file is canonical JSON (RFC 8785), byte for byte. */
export const Receipt = Type.Object(
  {
    format: Type.Literal("countersign.receipt.v1"),
    org_id: id("organization"),
    intent_id: id("intent"),
    checkpoint: Type.String({ description: "a C2SP tlog-checkpoint, signed as C2SP signed-note" }),
    keys: Type.Array(text(300), { description: "the verifier keys of the checkpoint's signatures, in their order" }),
    entries: Type.Array(ReceiptEntry, {
      description: "the decision, then what happened to it, in the order of the log",
    }),
    passkeys: Type.Optional(
      Type.Array(ReceiptEntry, {
        description:
          "entries in which people registered the passkeys that signed rulings, in the order of the log. Absent: none signed, or an " +
          "earlier version of the service or an erasure left no such entry",
      }),
    ),
  },
  { title: "Receipt" },
);
export type Receipt = Static<typeof Receipt>;
