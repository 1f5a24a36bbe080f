import type { Stream, StreamChange, StreamInput, StreamTest } from "@countersign/contract";
import { newIdempotencyKey } from "../../idempotency-key.ts";
import type { Transport } from "../../transport.ts";

export function streamCalls(call: Transport) {
  const at = (stream_id: string) => `/v1/streams/${encodeURIComponent(stream_id)}`;
  return {
    /** Creates a stream of the audit trail to a store. */
    createStream: async (input: StreamInput) => {
      const options = { body: input, idempotency_key: newIdempotencyKey() };
      return (await call<{ stream: Stream }>("POST", "/v1/streams", options)).stream;
    },

    /** Lists streams with their lag, newest first. */
    listStreams: async () => (await call<{ streams: Stream[] }>("GET", "/v1/streams")).streams,

    getStream: async (stream_id: string) => (await call<{ stream: Stream }>("GET", at(stream_id))).stream,

    /** Changes a stream, stops it, or sets it back. */
    changeStream: async (stream_id: string, change: StreamChange) =>
      (await call<{ stream: Stream }>("PATCH", at(stream_id), { body: change })).stream,

    /** Deletes a stream. What it wrote stays. */
    deleteStream: (stream_id: string) => call<null>("DELETE", at(stream_id)),

    /** Writes a small test object, and returns what happened. */
    testStream: async (stream_id: string) => (await call<{ test: StreamTest }>("POST", `${at(stream_id)}/test`)).test,
  };
}
