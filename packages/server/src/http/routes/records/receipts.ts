import { readReceipt, readTlogProof } from "../../../operations/log/read-receipt.ts";
import type { Runtime } from "../../../operations/runtime.ts";
import type { Handlers } from "../../handler.ts";
import { preferredType } from "../../request/preferred-type.ts";

/** The formats by the media type that a caller without `format` asks for. */
const formats = { "application/json": "json", "text/plain": "tlog-proof" } as const;

export function receiptRoutes(runtime: Runtime): Pick<Handlers, "getIntentReceipt"> {
  return {
    async getIntentReceipt({ caller, params: { intent_id }, query, headers: { accept } }) {
      const format = query.format ?? formats[preferredType(accept, ["application/json", "text/plain"])];
      const headers = { Vary: "Accept" };
      if (format === "json") return { status: 200, json_text: await readReceipt(runtime, caller, intent_id), headers };
      const json_text = await readTlogProof(runtime, caller, intent_id);
      return { status: 200, json_text, headers: { ...headers, "Content-Type": "text/plain; charset=utf-8" } };
    },
  };
}
