import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { openTracing } from "./tracing.ts";

async function collector() {
  const bodies: { path: string; text: string }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    bodies.push({ path: request.url as string, text: Buffer.concat(chunks).toString("utf8") });
    response.end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { bodies, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const span = {
  name: "submitIntent",
  kind: "server",
  started_us: 1_800_000_000_000_001,
  ended_us: 1_800_000_000_000_501,
  failed: false,
} as const;

test("a span reaches the collector with its times, its attributes, and the caller's trace as its parent", async () => {
  const { bodies, url } = await collector();
  const tracing = openTracing(`${url}/`);
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  tracing.ended({ ...span, traceparent, attributes: { "http.response.status_code": 201 } });
  await tracing.close();
  expect(bodies.map((body) => body.path)).toEqual(["/v1/traces"]);
  const [resource] = JSON.parse(bodies[0]?.text as string).resourceSpans;
  expect(resource.scopeSpans[0].spans[0]).toMatchObject({
    traceId: "0af7651916cd43dd8448eb211c80319c",
    parentSpanId: "b7ad6b7169203331",
    name: "submitIntent",
    startTimeUnixNano: "1800000000000001000",
    endTimeUnixNano: "1800000000000501000",
    attributes: [{ key: "http.response.status_code", value: { intValue: 201 } }],
  });
  expect(JSON.stringify(resource.resource)).toContain('"countersign"');
});

test("a span that the caller does not sample is not sent, and a failed request is marked", async () => {
  const { bodies, url } = await collector();
  const tracing = openTracing(url);
  tracing.ended({ ...span, traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", attributes: {} });
  tracing.ended({ ...span, failed: true, attributes: {} });
  await tracing.close();
  const spans = JSON.parse(bodies[0]?.text as string).resourceSpans[0].scopeSpans[0].spans;
  expect(spans).toHaveLength(1);
  expect(spans[0].status.code).toBe(2);
});

test("an unavailable collector loses spans, but does not delay the end of the process", async () => {
  const tracing = openTracing("http://127.0.0.1:9");
  tracing.ended({ ...span, attributes: {} });
  await expect(tracing.close()).resolves.toBeUndefined();
});
