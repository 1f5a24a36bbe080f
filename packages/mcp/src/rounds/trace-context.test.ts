import { expect, test } from "vitest";
import { fakeService } from "../testing/fake-service.ts";
import { governed, line, soon } from "../testing/governed.ts";

test("the intent carries the trace context of its call, and the server still gets it", async () => {
  const service = fakeService();
  const traces: unknown[] = [];
  const client = {
    ...service.client,
    submitIntent: ((submission, options) => {
      traces.push(options?.trace);
      return service.client.submitIntent(submission, options);
    }) as typeof service.client.submitIntent,
  };
  const { governor, toServer } = governed(undefined, { client });
  const trace = { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`, tracestate: "x=1" };
  const calls = [trace, { traceparent: trace.traceparent }, { traceparent: 7, tracestate: "x=1" }, {}].map(
    (_meta, id) => line({ id, method: "tools/call", params: { name: "pay", arguments: { n: 1 }, _meta } }),
  );
  for (const call of calls) governor.fromClient(call);
  await soon(() => expect(toServer).toEqual(calls));
  expect(traces).toEqual([trace, { traceparent: trace.traceparent }, undefined, undefined]);
});
