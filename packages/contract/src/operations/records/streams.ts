import Type from "typebox";
import { limits } from "../../limits.ts";
import { closed, givenId, Stream, StreamChange, StreamInput, StreamTest, wrapped } from "../../resources/index.ts";
import type { Operation } from "../operation.ts";

const params = closed({ stream_id: givenId("prefix str_") });
const common = { tag: "Streams", rate: "general" } as const;
const admins = { ...common, auth: ["admin"] } as const;
const readers = { ...common, auth: ["operator", "auditor"] } as const;
const body_bytes_max = limits.small_body_bytes_max;
const shown = { description: "The stream.", schema: wrapped("stream", Stream) } as const;

/** See docs/how-to/streams.md. */
export const streamOperations = {
  createStream: {
    ...admins,
    method: "POST",
    path: "/v1/streams",
    summary: "Create a stream of the audit trail to a store",
    description:
      "The service writes each entry of the ledger that a checkpoint covers, in objects of at most one hour (UTC). It begins with the hour of " +
      "`from`.",
    idempotent: true,
    body: StreamInput,
    body_bytes_max,
    answers: { 201: shown },
    refuses: ["webhook_url_refused", "already_exists", "state_conflict"],
  },
  listStreams: {
    ...readers,
    method: "GET",
    path: "/v1/streams",
    summary: "List streams with their lag, newest first",
    answers: { 200: { description: "All streams.", schema: wrapped("streams", Type.Array(Stream)) } },
  },
  getStream: {
    ...readers,
    method: "GET",
    path: "/v1/streams/{stream_id}",
    summary: "Read a stream with its lag",
    params,
    answers: { 200: shown },
    refuses: ["not_found"],
  },
  changeStream: {
    ...admins,
    method: "PATCH",
    path: "/v1/streams/{stream_id}",
    summary: "Change a stream, stop it, or set it back",
    description:
      "`target` replaces the whole target, which keeps its kind. `from` sets the stream back: hours from then on are written again, to the same " +
      "objects with the same entries.",
    params,
    body: StreamChange,
    body_bytes_max,
    answers: { 200: shown },
    refuses: ["not_found", "webhook_url_refused", "state_conflict"],
  },
  deleteStream: {
    ...admins,
    method: "DELETE",
    path: "/v1/streams/{stream_id}",
    summary: "Delete a stream; what it wrote stays",
    params,
    answers: { 204: { description: "The stream is deleted.", schema: null } },
    refuses: ["not_found"],
  },
  testStream: {
    ...admins,
    method: "POST",
    path: "/v1/streams/{stream_id}/test",
    summary: "Write a small test object",
    description: "The test object has the same name each time. It is no part of the stream.",
    params,
    answers: { 200: { description: "What happened.", schema: wrapped("test", StreamTest) } },
    refuses: ["not_found"],
  },
} as const satisfies Record<string, Operation>;
