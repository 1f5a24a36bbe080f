/** Parts of Model Context Protocol messages that the proxy reads. Source: JSON-RPC 2.0; modelcontextprotocol.io. */
import { foldName } from "@countersign/contract";

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json | undefined;
}

export type RequestId = string | number;

export interface Message extends JsonObject {
  readonly jsonrpc: "2.0";
  /** Absent: a notification. */
  readonly id?: RequestId;
  /** Absent: an answer. */
  readonly method?: string;
  readonly params?: JsonObject;
}

/**
 * Keys of `_meta`. Since revision 2026-07-28 there is no `initialize`: each request names its revision and should name
 * its client, and each result its server.
 */
export const metaKeys = {
  revision: "io.modelcontextprotocol/protocolVersion",
  client: "io.modelcontextprotocol/clientInfo",
  capabilities: "io.modelcontextprotocol/clientCapabilities",
  server: "io.modelcontextprotocol/serverInfo",
} as const;

export function metaOf({ _meta }: JsonObject): JsonObject {
  return isObject(_meta) ? _meta : {};
}

/**
 * Returns the `_meta` for the governor's own requests, on protocol and client; empty if the client's request has none.
 */
export function protocolMeta(params: JsonObject): JsonObject {
  const meta = metaOf(params);
  if (!(metaKeys.revision in meta)) return {};
  return Object.fromEntries(Object.entries(meta).filter(([name]) => name.startsWith("io.modelcontextprotocol/")));
}

/** How the client wants a call answered. */
export interface Asked {
  readonly id: RequestId;
  /** Results state their type, as since revision 2026-07-28. */
  readonly typed: boolean;
  /** The answer is a task or an error, and the client asks for the result later. */
  readonly as_task: boolean;
  /** Its results cannot say that it failed, so it gets an error instead. */
  readonly is_read?: boolean;
}

/** Since revision 2026-07-28 the server decides whether a call becomes a task. */
export function askedBy(id: RequestId, params: JsonObject): Asked {
  const typed = metaKeys.revision in metaOf(params);
  return { id, typed, as_task: !typed && isObject(params["task"]) };
}

export interface Answer extends JsonObject {
  readonly id: RequestId;
}

/** Codes of JSON-RPC, and one of its free codes for a valid call that cannot be made. */
export const errorCodes = {
  ...{ parse_error: -32_700, invalid_request: -32_600, method_not_found: -32_601, invalid_params: -32_602 },
  no_result: -32_010,
} as const;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Returns whether a member is only another spelling of one of these names. Some servers (Go's encoding/json) ignore
 * case and use the last one.
 */
export function hasLookAlike(object: JsonObject, names: readonly string[]): boolean {
  const known = names.map(folded);
  return Object.keys(object).some((name) => !names.includes(name) && known.includes(folded(name)));
}

/** Upper case first, because U+017F has no other lower case: it is an s. */
const folded = (name: string): string => name.toUpperCase().toLowerCase();

/**
 * Returns whether an object, at any depth, has two names that differ only in case. A reader that ignores case may use
 * the one that was not decided on.
 */
export function hasTwins(value: Json | undefined): boolean {
  if (typeof value !== "object" || value === null) return false;
  const names = Array.isArray(value) ? [] : Object.keys(value).map(folded);
  return new Set(names).size < names.length || Object.values(value).some(hasTwins);
}

const members = ["jsonrpc", "id", "method", "params", "result", "error"];

/** Returns whether both sides read the message alike. Ignores members that JSON-RPC does not define. */
export function isMessage(value: unknown): value is Message {
  if (!isObject(value) || value["jsonrpc"] !== "2.0" || hasLookAlike(value, members)) return false;
  const { id, method, params } = value;
  if (id !== undefined && !isId(id)) return false;
  if (params !== undefined && !isObject(params)) return false;
  if (method === undefined) return id !== undefined && "result" in value !== "error" in value;
  return typeof method === "string";
}

export function objectIn(line: string): JsonObject | null {
  try {
    const read: unknown = JSON.parse(line);
    return isObject(read) ? read : null;
  } catch {
    return null;
  }
}

/** Accepts invalid forms, too, because a client may accept them. */
export function isAnswer(message: JsonObject): message is Answer {
  return isId(message["id"]) && ("result" in message || "error" in message);
}

/** Methods that the proxy reads. */
const readMethods = [
  ...["initialize", "tools/call", "tools/list", "notifications/cancelled", "resources/read", "prompts/get"],
  ...["tasks/get", "tasks/result", "tasks/cancel"],
];

/**
 * Returns the method of the proxy from which this one differs only in white space, hidden characters or case; otherwise
 * null. A lenient server may treat them alike.
 */
export function almostReadMethod(method: string): string | null {
  if (readMethods.includes(method)) return null;
  const plain = foldName(method.replaceAll(/[\s\p{C}\p{Default_Ignorable_Code_Point}]/gu, ""));
  return readMethods.find((each) => each === plain) ?? null;
}

export function isId(value: unknown): value is RequestId {
  return typeof value === "string" || typeof value === "number";
}

/** `1` and `"1"` differ. */
export const idKey = (id: RequestId): string => JSON.stringify(id);

/** `id` is null for a request whose id cannot be read. Unlike JSON-RPC, the protocol then omits the id. */
export function refusal(id: RequestId | null, code: number, message: string, data?: JsonObject): JsonObject {
  return { jsonrpc: "2.0", ...(id !== null && { id }), error: { code, message, data } };
}

/** Returns the answer to a call without a result, in words for the model. */
export function noResult(
  { id, typed, as_task, is_read = false }: Asked,
  text: string,
  intent_id: string | null = null,
): JsonObject {
  const about = intent_id === null ? undefined : { "countersign/intent_id": intent_id };
  if (as_task || is_read) return refusal(id, errorCodes.no_result, text, about);
  const type = typed ? { resultType: "complete" } : {};
  return { jsonrpc: "2.0", id, result: { ...type, content: [{ type: "text", text }], isError: true, _meta: about } };
}

/** Accepts any form of error, because servers differ and the call must be recorded. */
export function textIn(error: Json | undefined): string {
  const message = isObject(error) ? error["message"] : null;
  return typeof message === "string" ? message : "without a reason";
}
