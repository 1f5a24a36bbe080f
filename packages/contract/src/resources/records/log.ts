import Type, { type Static } from "typebox";
import { limits } from "../../limits.ts";
import { closed, nullable, oneOf, text, timestamp } from "../shapes.ts";

export const LogKey = Type.Object(
  {
    verifier_key: text(200, { description: "as in C2SP signed-note: name, key id and public key, joined by plus" }),
    created_at: timestamp(),
    retired_at: nullable(
      timestamp("the key signs no checkpoint from then on, perhaps in the future; null: no end is set"),
    ),
  },
  { title: "LogKey" },
);
export type LogKey = Static<typeof LogKey>;

export const LogKeyRotation = closed(
  {
    overlap_days: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: limits.log_key_overlap_days_max,
        description: `how long earlier keys sign beside the new one; default ${limits.log_key_overlap_days_default}`,
      }),
    ),
  },
  { title: "LogKeyRotation" },
);
export type LogKeyRotation = Static<typeof LogKeyRotation>;

export const LogCheckpointQuery = closed({
  cosigned: Type.Optional(
    oneOf(["true", "false"], {
      description: "true: the newest checkpoint that a witness cosigned; 404 if there is none. Default false",
    }),
  ),
});
export type LogCheckpointQuery = Static<typeof LogCheckpointQuery>;

export const LogWitness = Type.Object(
  {
    name: text(limits.log_witness_name_chars_max),
    cosigned_size: Type.Integer({ minimum: 0, description: "size of the newest checkpoint that it cosigned; 0: none" }),
    cosigned_at: nullable(timestamp("by the witness's clock; null: it cosigned none")),
    behind: Type.Integer({ minimum: 0, description: "entries under the newest checkpoint that it did not cosign" }),
    problem: nullable(text(limits.comment_chars_max, { description: "why the last request failed; null: it did not" })),
    failing_since: nullable(timestamp()),
  },
  { title: "LogWitness" },
);
export type LogWitness = Static<typeof LogWitness>;

const size = (description: string) => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description });

export const LogConsistencyQuery = closed({
  from: size("size of the earlier checkpoint"),
  to: Type.Optional(size("size of the later checkpoint; default: the newest")),
});
export type LogConsistencyQuery = Static<typeof LogConsistencyQuery>;

export const LogConsistency = Type.Object(
  {
    from: size("size of the earlier tree"),
    to: size("size of the later tree"),
    proof: Type.Array(text(44), { maxItems: 64, description: "hashes of the proof of RFC 9162 §2.1.4, in base64" }),
  },
  { title: "LogConsistency" },
);
export type LogConsistency = Static<typeof LogConsistency>;
