/** Messages of the Model Context Protocol, as far as a proxy looks into them. Source: JSON-RPC 2.0; modelcontextprotocol.io. */
import { foldName } from "@countersign/contract";

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json | undefined;
}

/** What one side calls the other's answer by. */
export type RequestId = string | number;

/** A message of either side, with what a proxy asks of it. */
export interface Message extends JsonObject {
  readonly jsonrpc: "2.0";
  /** Absent: a notification. */
  readonly id?: RequestId;
  /** Absent: an answer. */
  readonly method?: string;
  readonly params?: JsonObject;
}

/**
 * Keys of `_meta` of the protocol itself. Since revision 2026-07-28 there is no `initialize`: each request names its revision and
 * should name its client, and each result should name its server.
 */
export const metaKeys = {
  revision: "io.modelcontextprotocol/protocolVersion",
  client: "io.modelcontextprotocol/clientInfo",
  server: "io.modelcontextprotocol/serverInfo",
} as const;

/** The `_meta` of parameters or of a result; empty if there is none. */
export function metaOf({ _meta }: JsonObject): JsonObject {
  return isObject(_meta) ? _meta : {};
}

/** Returns what the governor's own requests must say of protocol and client; empty if the client's request does not say so. */
export function protocolMeta(params: JsonObject): JsonObject {
  const meta = metaOf(params);
  if (!(metaKeys.revision in meta)) return {};
  return Object.fromEntries(Object.entries(meta).filter(([name]) => name.startsWith("io.modelcontextprotocol/")));
}

/** How a call was asked for. */
export interface Asked {
  readonly id: RequestId;
  /** Whether a result says what type it has, as since revision 2026-07-28. */
  readonly typed: boolean;
  /** As a task, which is begun now and asked for its result later: what answers it is a task, or an error. */
  readonly as_task: boolean;
}

/** How a call with these parameters is asked for. Since revision 2026-07-28 it is the server that makes a task of a call. */
export function askedBy(id: RequestId, params: JsonObject): Asked {
  const typed = metaKeys.revision in metaOf(params);
  return { id, typed, as_task: !typed && isObject(params["task"]) };
}

/** What a server says of a request. */
export interface Answer extends JsonObject {
  readonly id: RequestId;
}

/** Numbers of JSON-RPC, and of its free ones one of ours for a call that was well asked for. */
export const errorCodes = {
  ...{ parse_error: -32_700, invalid_request: -32_600, method_not_found: -32_601, invalid_params: -32_602 },
  no_result: -32_010,
} as const;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Whether a member is spelled almost as one of these. Servers in some languages (encoding/json of Go) read names in any case, and
 * the last one counts: `Method` would be the method.
 */
export function hasLookAlike(object: JsonObject, names: readonly string[]): boolean {
  return Object.keys(object).some((name) => !names.includes(name) && names.includes(folded(name)));
}

/** One spelling for those that differ in case only. By way of the upper case, which also folds what has no other: U+017F is an s. */
const folded = (name: string): string => name.toUpperCase().toLowerCase();

/** Whether two members of one object, at any depth, are one to whoever reads names in any case: what was decided on may be the other. */
export function hasTwins(value: Json | undefined): boolean {
  if (typeof value !== "object" || value === null) return false;
  const names = Array.isArray(value) ? [] : Object.keys(value).map(folded);
  return new Set(names).size < names.length || Object.values(value).some(hasTwins);
}

const members = ["jsonrpc", "id", "method", "params", "result", "error"];

/** A message that both sides read alike. Members that JSON-RPC has no place for are let be. */
export function isMessage(value: unknown): value is Message {
  if (!isObject(value) || value["jsonrpc"] !== "2.0" || hasLookAlike(value, members)) return false;
  const { id, method, params } = value;
  if (id !== undefined && !isId(id)) return false;
  if (params !== undefined && !isObject(params)) return false;
  if (method === undefined) return id !== undefined && "result" in value !== "error" in value;
  return typeof method === "string";
}

/** Returns the object that a server wrote on a line; null if it is none. */
export function objectIn(line: string): JsonObject | null {
  try {
    const read: unknown = JSON.parse(line);
    return isObject(read) ? read : null;
  } catch {
    return null;
  }
}

/** Whether a server's message is an answer, also one that JSON-RPC would have otherwise: a client may take it for one. */
export function isAnswer(message: JsonObject): message is Answer {
  return isId(message["id"]) && ("result" in message || "error" in message);
}

/** The methods that the proxy reads itself. */
const readMethods = ["initialize", "tools/call", "tools/list", "tasks/result", "notifications/cancelled"];

/**
 * Returns the method that the proxy reads if this one equals it only without white space, hidden characters and case; else null. A
 * lenient server may take the one for the other.
 */
export function almostReadMethod(method: string): string | null {
  if (readMethods.includes(method)) return null;
  const plain = foldName(method.replaceAll(/[\s\p{C}\p{Default_Ignorable_Code_Point}]/gu, ""));
  return readMethods.find((each) => each === plain) ?? null;
}

export function isId(value: unknown): value is RequestId {
  return typeof value === "string" || typeof value === "number";
}

/** One text for one id: `1` and `"1"` are two. */
export const idKey = (id: RequestId): string => JSON.stringify(id);

/** An error; `id` null: of a request whose id cannot be read. The protocol has no null there, unlike JSON-RPC. */
export function refusal(id: RequestId | null, code: number, message: string, data?: JsonObject): JsonObject {
  return { jsonrpc: "2.0", ...(id !== null && { id }), error: { code, message, data } };
}

/** The answer to a call that has no result to hand on, in words that a model can use. */
export function noResult({ id, typed, as_task }: Asked, text: string, intent_id: string | null = null): JsonObject {
  const about = intent_id === null ? undefined : { "countersign/intent_id": intent_id };
  if (as_task) return refusal(id, errorCodes.no_result, text, about);
  const type = typed ? { resultType: "complete" } : {};
  return { jsonrpc: "2.0", id, result: { ...type, content: [{ type: "text", text }], isError: true, _meta: about } };
}
