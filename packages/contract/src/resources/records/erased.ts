import Type, { type Static } from "typebox";
import { limits } from "../../limits.ts";
import { id, nullable, text, timestamp } from "../shapes.ts";

/** Of a record without its content. */
export const Erased = Type.Object(
  {
    at: timestamp(),
    by: text(limits.label_chars_max, { description: "key_id or user_id, or `retention`" }),
    erasure_id: nullable(id("erasure")),
  },
  { title: "Erased", description: "the content was erased. Absent: it was not" },
);
export type Erased = Static<typeof Erased>;
