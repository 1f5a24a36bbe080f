/** Sends traces if OTEL_EXPORTER_OTLP_ENDPOINT is set: one span a request, one a statement of the commit writer. */

import { product_version } from "@countersign/contract";
import { ROOT_CONTEXT, type SpanAttributes, SpanKind, SpanStatusCode, TraceFlags } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
} from "@opentelemetry/sdk-trace-base";
import type { Spans } from "../ports.ts";

/** Spans that go to a collector. `close` sends the last of them. */
export interface ExportedSpans extends Spans {
  close(): Promise<void>;
}

/** How long the end of the process waits for a collector that does not answer. */
const close_ms_max = 2_000;

/**
 * Sends spans to `<endpoint>/v1/traces` in batches, off the hot path. A caller's `traceparent` becomes the parent, and
 * its sampling flag is followed. An unavailable collector loses spans, never requests.
 */
export function openTracing(endpoint: string): ExportedSpans {
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, "")}/v1/traces`,
    timeoutMillis: close_ms_max,
  });
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ "service.name": "countersign", "service.version": product_version }),
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [new BatchSpanProcessor(exporter, { exportTimeoutMillis: close_ms_max })],
  });
  const tracer = provider.getTracer("countersign");
  const propagator = new W3CTraceContextPropagator();
  const carrier = { get: (headers: Readonly<Record<string, string>>, key: string) => headers[key], keys: Object.keys };

  return {
    ended({ name, kind, started_us, ended_us, traceparent, failed, attributes }) {
      const parent =
        traceparent === undefined ? ROOT_CONTEXT : propagator.extract(ROOT_CONTEXT, { traceparent }, carrier);
      const options = {
        kind: kind === "server" ? SpanKind.SERVER : SpanKind.CLIENT,
        startTime: timeOf(started_us),
        attributes: attributes as SpanAttributes,
      };
      const span = tracer.startSpan(name, options, parent);
      if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(timeOf(ended_us));
    },
    // If the collector cannot be reached, its spans are lost and the process ends.
    close: () => provider.shutdown().catch(() => undefined),
  };
}

/** Converts to OpenTelemetry's [seconds, nanoseconds]. */
function timeOf(at_us: number): [number, number] {
  return [Math.floor(at_us / 1_000_000), (at_us % 1_000_000) * 1_000];
}
