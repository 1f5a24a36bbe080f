import type { TraceContext } from "@countersign/sdk";
import { type JsonObject, metaOf } from "../protocol/messages.ts";

/** Returns the W3C trace context in the `_meta` of a request; undefined: it has none. */
export function traceOf(params: JsonObject): TraceContext | undefined {
  const { traceparent, tracestate } = metaOf(params);
  if (typeof traceparent !== "string") return undefined;
  return { traceparent, ...(typeof tracestate === "string" && { tracestate }) };
}
