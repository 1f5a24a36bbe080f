/** Answers of a server after which an action goes on. */
import type { DecidedMethod } from "../calls/decided-requests.ts";
import { readExactly } from "../protocol/exact-json.ts";
import { type Asked, isObject, type JsonObject } from "../protocol/messages.ts";
import type { RoundState } from "./call-states.ts";

export type Step =
  | { readonly kind: "round"; readonly server_state: string | null }
  | { readonly kind: "task"; readonly task_id: string; readonly task: JsonObject };

/** Returns how the action goes on after the server's answer; null: it is over. */
export function stepAfter({ error, result }: JsonObject, { typed, as_task, is_read = false }: Asked): Step | null {
  if (!isObject(result) || (error ?? null) !== null) return null;
  const { resultType: type, requestState: state } = result;
  if (typed && type === "input_required")
    return { kind: "round", server_state: typeof state === "string" ? state : null };
  if (is_read) return null;
  // Since revision 2026-07-28 the server alone decides, and the task is the result itself.
  const task = typed ? type === "task" && result : as_task && result["task"];
  if (!isObject(task) || typeof task["taskId"] !== "string") return null;
  return { kind: "task", task_id: task["taskId"], task };
}

/** Returns the server's answer with another `requestState`. Throws `RangeError` if it is nested too deep. */
export function withState(line: string, requestState: string): string {
  const { value, write } = readExactly(line);
  const message = value as JsonObject;
  return write({ ...message, result: { ...(message["result"] as JsonObject), requestState } });
}

/** Members of a read's parameters that its content has. */
const contentNames: readonly string[] = ["uri", "name", "arguments"];

/**
 * Returns the parameters of a request for the server: with the decided content, and in a round with the server's own
 * state. Otherwise the client's responses are for the proxy.
 */
export function paramsFor(
  method: DecidedMethod,
  params: JsonObject,
  content: JsonObject,
  round: RoundState | null,
): JsonObject {
  const { requestState, inputResponses, ...others } = params;
  return {
    ...(method === "tools/call" ? callParams(others, content) : readParams(others, content)),
    ...(round !== null && inputResponses !== undefined && { inputResponses }),
    ...((round?.server_state ?? null) !== null && { requestState: round?.server_state }),
  };
}

/** Adds no empty arguments to a call that had none. */
function callParams(params: JsonObject, content: JsonObject): JsonObject {
  const has_none = params["arguments"] === undefined && Object.keys(content).length === 0;
  return has_none ? params : { ...params, arguments: content };
}

/** A member that the decision removed must not come back. */
function readParams(params: JsonObject, content: JsonObject): JsonObject {
  const kept = ([name]: [string, unknown]): boolean => Object.hasOwn(content, name) || !contentNames.includes(name);
  return Object.fromEntries(Object.entries({ ...params, ...content }).filter(kept)) as JsonObject;
}
