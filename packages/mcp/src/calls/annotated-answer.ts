import { readExactly } from "../protocol/exact-json.ts";
import { isObject, type Json, type JsonObject, metaOf } from "../protocol/messages.ts";

/**
 * Returns the answer with texts for the model at its end. Leaves an answer without a result unchanged, and an
 * incomplete one (since revision 2026-07-28). Throws `RangeError` if the answer is nested too deep.
 */
export function annotatedAnswer(line: string, texts: readonly string[], intent_id: string): string {
  const { value, write } = readExactly(line);
  if (!isObject(value) || !isObject(value["result"])) return line;
  const { result } = value;
  if ((result["resultType"] ?? "complete") !== "complete") return line;
  return write({ ...value, result: annotated(result, texts, intent_id) });
}

/** As `annotatedAnswer`, for the state of a task in an answer or a notification. Only a completed one has a result. */
export function annotatedTask(line: string, texts: readonly string[], intent_id: string): string {
  const { value, write } = readExactly(line);
  if (!isObject(value)) return line;
  const at = "params" in value ? "params" : "result";
  const { [at]: task } = value;
  if (!isObject(task) || !isObject(task["result"])) return line;
  return write({ ...value, [at]: { ...task, result: annotated(task["result"], texts, intent_id) } });
}

function annotated(result: JsonObject, texts: readonly string[], intent_id: string): JsonObject {
  return {
    ...result,
    ...withTexts(result, texts, intent_id),
    _meta: { ...metaOf(result), "countersign/intent_id": intent_id },
  };
}

/** Adds the texts in the form of the result: a resource, a prompt, or the answer of a tool. */
function withTexts(result: JsonObject, texts: readonly string[], intent_id: string): JsonObject {
  const listed = (name: string): readonly Json[] => (Array.isArray(result[name]) ? result[name] : []);
  const parts = texts.map((text) => ({ type: "text", text }));
  if (!("content" in result) && Array.isArray(result["contents"])) {
    const uri = `countersign://intents/${intent_id}`;
    const added = texts.map((text) => ({ uri, mimeType: "text/plain", text }));
    return { contents: [...listed("contents"), ...added] };
  }
  if (!("content" in result) && Array.isArray(result["messages"]))
    return { messages: [...listed("messages"), ...parts.map((content) => ({ role: "user", content }))] };
  return { content: [...listed("content"), ...parts] };
}
