import Type, { type Static } from "typebox";
import { limits } from "../../limits.ts";
import { chosenName, closed, filledText, id, nullable, oneOf, text, timeInput, timestamp } from "../shapes.ts";

export const streamFormats = ["jsonl", "ocsf"] as const;

const StreamFormat = oneOf(streamFormats, {
  description:
    "jsonl: the records of the audit trail, those of decisions with intent and decision; " +
    "ocsf: events of the class API Activity (6003) of OCSF 1.8.0",
});
export type StreamFormat = Static<typeof StreamFormat>;

const kind = () =>
  oneOf(["s3", "file"], {
    description: "s3: a bucket of S3 or a compatible store; file: the directory that the operator set",
  });
/** One part of a host name or path, so that the signed path and the sent path are the same. */
const prefix_pattern = "^(?:[A-Za-z0-9_=-][A-Za-z0-9_.=-]*(?:/[A-Za-z0-9_=-][A-Za-z0-9_.=-]*)*)?$";

/** The operation requires the members of the kind. */
export const StreamTargetInput = closed(
  {
    kind: kind(),
    endpoint: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.webhook_url_chars_max,
        description:
          "https address of the store, such as https://s3.eu-central-1.amazonaws.com; the bucket goes into the path",
      }),
    ),
    region: Type.Optional(
      Type.String({ maxLength: 64, pattern: "^[A-Za-z0-9-]{1,64}$", description: "region of the signature" }),
    ),
    bucket: Type.Optional(Type.String({ maxLength: 63, pattern: "^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$" })),
    prefix: Type.Optional(
      Type.String({
        maxLength: limits.stream_prefix_chars_max,
        pattern: prefix_pattern,
        description: "begin of each object's name, without a slash at the ends; default: empty",
      }),
    ),
    access_key_id: Type.Optional(
      Type.String({ maxLength: 128, pattern: "^[\\x21-\\x2b\\x2d-\\x2e\\x30-\\x7e]{1,128}$" }),
    ),
    secret_access_key: Type.Optional(
      filledText(limits.stream_secret_chars_max, {
        description: "stored sealed and never shown. In a change, absent: unchanged",
      }),
    ),
  },
  { title: "StreamTargetInput" },
);
export type StreamTargetInput = Static<typeof StreamTargetInput>;

const name = () => chosenName(limits.name_chars_max, "for people");
const from = (meaning: string) =>
  Type.Optional(timeInput(`the hour (UTC) of this time is the first that is written${meaning}`));

export const StreamInput = closed(
  { name: name(), format: StreamFormat, target: StreamTargetInput, from: from("; default: the current hour") },
  { title: "StreamInput" },
);
export type StreamInput = Static<typeof StreamInput>;

export const StreamChange = closed(
  {
    name: Type.Optional(name()),
    active: Type.Optional(Type.Boolean({ description: "false: nothing is written; true: continues where it stopped" })),
    target: Type.Optional(StreamTargetInput),
    from: from(" again; not later than what is written"),
  },
  { title: "StreamChange" },
);
export type StreamChange = Static<typeof StreamChange>;

const StreamTarget = Type.Object(
  {
    kind: kind(),
    endpoint: nullable(text(limits.webhook_url_chars_max)),
    region: nullable(text(64)),
    bucket: nullable(text(63)),
    prefix: text(limits.stream_prefix_chars_max, {
      description: "begin of each object's name; of files: below the directory",
    }),
    access_key_id: nullable(text(128)),
  },
  { title: "StreamTarget", description: "of a directory, the members of s3 are null" },
);
export type StreamTarget = Static<typeof StreamTarget>;

export const Stream = Type.Object(
  {
    stream_id: id("stream"),
    name: text(limits.name_chars_max),
    format: StreamFormat,
    target: StreamTarget,
    active: Type.Boolean(),
    created_at: timestamp(),
    created_by: nullable(text(64, { description: "key_id or user_id; null: open mode" })),
    lag_entries: Type.Integer({ minimum: 0, description: "entries of the ledger that are not written yet" }),
    lag_seconds: Type.Integer({ minimum: 0, description: "age of the oldest of them; 0: none" }),
    written_to: nullable(timestamp("time of the last written entry; null: none before the stream's begin")),
    written_at: nullable(timestamp("when the store took the last object; null: never")),
    problem: nullable(text(limits.comment_chars_max, { description: "why the last attempt failed; null: it did not" })),
    failing_since: nullable(timestamp()),
  },
  { title: "Stream" },
);
export type Stream = Static<typeof Stream>;

export const StreamTest = Type.Object(
  {
    object: text(limits.webhook_url_chars_max, { description: "name of the test object" }),
    written: Type.Boolean(),
    problem: nullable(text(limits.comment_chars_max, { description: "why it was not written; null: it was" })),
  },
  { title: "StreamTest" },
);
export type StreamTest = Static<typeof StreamTest>;
