import { expect, test } from "vitest";
import { createClient } from "./index.ts";
import { json, serve } from "./testing/serve.ts";

const submission = { intent: { agent: { id: "a" }, action: { verb: "send_money" } } };
const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;

test.each([
  [{ traceparent, tracestate: "x=1" }, [traceparent, "x=1"]],
  [{ traceparent }, [traceparent, undefined]],
  [{ traceparent, tracestate: "x=\n" }, [traceparent, undefined]],
  [{ traceparent: `${traceparent}\r\nx-api-key: 1`, tracestate: "x=1" }, [undefined, undefined]],
])("a submission carries the caller's trace context, and no text that is none: %j", async (trace, sent) => {
  const { base_url, received } = await serve(json(201, {}), json(201, {}));
  const client = createClient({ base_url });
  await client.submitIntent(submission, { trace });
  await client.submitIntentBatch([], { trace });
  const headers = received.map((each) => [each.headers["traceparent"], each.headers["tracestate"]]);
  expect(headers).toEqual([sent, sent]);
});
