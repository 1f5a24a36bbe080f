import type { Runtime } from "../../../operations/runtime.ts";
import { changeStream } from "../../../operations/streams/change-stream.ts";
import { createStream } from "../../../operations/streams/create-stream.ts";
import { deleteStream } from "../../../operations/streams/delete-stream.ts";
import { getStream, listStreams } from "../../../operations/streams/read-streams.ts";
import { testStream } from "../../../operations/streams/test-stream.ts";
import { answerOnce } from "../../answer/answer-once.ts";
import type { Handlers } from "../../handler.ts";

type StreamHandlers = Pick<
  Handlers,
  "createStream" | "listStreams" | "getStream" | "changeStream" | "deleteStream" | "testStream"
>;

export function streamRoutes(runtime: Runtime): StreamHandlers {
  return {
    async createStream({ caller, body, idempotency_key }) {
      const { response, replayed } = await createStream(runtime, caller, body, idempotency_key);
      return answerOnce(replayed, { status: 201, body: { stream: response } });
    },
    async listStreams({ caller }) {
      return { status: 200, body: { streams: await listStreams(runtime, caller) } };
    },
    async getStream({ caller, params }) {
      return { status: 200, body: { stream: await getStream(runtime, caller, params.stream_id) } };
    },
    async changeStream({ caller, params, body }) {
      return { status: 200, body: { stream: await changeStream(runtime, caller, params.stream_id, body) } };
    },
    async deleteStream({ caller, params }) {
      await deleteStream(runtime, caller, params.stream_id);
      return { status: 204 };
    },
    async testStream({ caller, params }) {
      return { status: 200, body: { test: await testStream(runtime, caller, params.stream_id) } };
    },
  };
}
