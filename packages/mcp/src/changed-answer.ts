import { readExactly } from "./exact-json.ts";
import { isObject, type Json, type JsonObject } from "./messages.ts";

/**
 * The answer to a call whose arguments were changed before it was made: the model is told, or it believes in its own. As it came
 * where it has no result. Throws `RangeError` where it is nested too deep.
 */
export function changedAnswer(line: string, content: JsonObject, intent_id: string): string {
  const { value, write } = readExactly(line);
  if (!isObject(value) || !isObject(value["result"])) return line;
  const { result } = value;
  const text = `Countersign changed this call before it was made. It was made with: ${JSON.stringify(content)}`;
  const said = Array.isArray(result["content"]) ? (result["content"] as readonly Json[]) : [];
  const meta = isObject(result["_meta"]) ? result["_meta"] : {};
  const told = {
    ...result,
    content: [...said, { type: "text", text }],
    _meta: { ...meta, "countersign/intent_id": intent_id },
  };
  return write({ ...value, result: told });
}
