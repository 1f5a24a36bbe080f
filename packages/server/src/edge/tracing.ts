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

/** `close` sends the last spans. */
export interface ExportedSpans extends Spans {
  close(): Promise<void>;
}

const close_ms_max = 2_000;

/**
 * Sends spans to `<endpoint>/v1/traces` in batches. Follows a caller's `traceparent` and its sampling flag. An
 * unavailable collector loses spans, never requests, and does not stop the process from ending.
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
    close: () => provider.shutdown().catch(() => undefined),
  };
}

function timeOf(at_us: number): [number, number] {
  return [Math.floor(at_us / 1_000_000), (at_us % 1_000_000) * 1_000];
}
