import { readExactly } from "./exact-json.ts";
import { isObject, type Json, type JsonObject, metaOf } from "./messages.ts";

/**
 * The answer to a call whose arguments were changed before it was made: the model is told, or it believes in its own. As it came
 * where it has no result, or one that is not complete (since revision 2026-07-28): the client calls again. Throws `RangeError` where it is nested too deep.
 */
export function changedAnswer(line: string, content: JsonObject, intent_id: string): string {
  const { value, write } = readExactly(line);
  if (!isObject(value) || !isObject(value["result"])) return line;
  const { result } = value;
  if ((result["resultType"] ?? "complete") !== "complete") return line;
  const text = `Countersign changed this call before it was made. It was made with: ${JSON.stringify(content)}`;
  const said = Array.isArray(result["content"]) ? (result["content"] as readonly Json[]) : [];
  const told = {
    ...result,
    content: [...said, { type: "text", text }],
    _meta: { ...metaOf(result), "countersign/intent_id": intent_id },
  };
  return write({ ...value, result: told });
}
