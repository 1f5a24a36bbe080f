import { readReceipt, readTlogProof } from "../../../operations/log/read-receipt.ts";
import type { Runtime } from "../../../operations/runtime.ts";
import type { Handlers } from "../../handler.ts";

export function receiptRoutes(runtime: Runtime): Pick<Handlers, "getIntentReceipt"> {
  return {
    async getIntentReceipt({ caller, params: { intent_id }, query: { format } }) {
      if (format !== "tlog-proof") return { status: 200, json_text: await readReceipt(runtime, caller, intent_id) };
      const json_text = await readTlogProof(runtime, caller, intent_id);
      return { status: 200, json_text, headers: { "Content-Type": "text/plain; charset=utf-8" } };
    },
  };
}
