import { readExactly } from "./exact-json.ts";
import { isObject, type Json, type JsonObject, metaOf } from "./messages.ts";

/**
 * Returns the answer with texts for the model at its end. Leaves an answer without a result unchanged, and an
 * incomplete one (since revision 2026-07-28), after which the client calls again. Throws `RangeError` if the answer is
 * nested too deep.
 */
export function annotatedAnswer(line: string, texts: readonly string[], intent_id: string): string {
  const { value, write } = readExactly(line);
  if (!isObject(value) || !isObject(value["result"])) return line;
  const { result } = value;
  if ((result["resultType"] ?? "complete") !== "complete") return line;
  const content = Array.isArray(result["content"]) ? (result["content"] as readonly Json[]) : [];
  const annotated: JsonObject = {
    ...result,
    content: [...content, ...texts.map((text) => ({ type: "text", text }))],
    _meta: { ...metaOf(result), "countersign/intent_id": intent_id },
  };
  return write({ ...value, result: annotated });
}
