/**
 * Since revision 2026-07-28, requests repeat parts of their body in HTTP headers. The proxy writes these headers from
 * the decided body, and refuses a client's headers that disagree with the client's body.
 */
import type { IncomingHttpHeaders } from "node:http";
import { isObject, type Json, type JsonObject, type Message, metaKeys, metaOf } from "../protocol/messages.ts";
import type { Headers } from "./remote.ts";

/** The first revision without sessions. */
const stateless_revision = "2026-07-28";

/** The code of the protocol for headers that disagree with the body. */
export const header_mismatch = -32_020;

/** The parameter that `Mcp-Name` repeats. */
const namedBy: Readonly<Record<string, string>> = {
  ...{ "tools/call": "name", "prompts/get": "name", "resources/read": "uri" },
  ...{ "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId" },
};

/** Optional, because they belong to an extension. */
const mayLackName = (method: string): boolean => method.startsWith("tasks/");

/** Returns the revision that the message names; null before revision 2026-07-28. */
export function revisionOf({ params = {} }: Message): string | null {
  const revision = metaOf(params)[metaKeys.revision];
  return typeof revision === "string" ? revision : null;
}

/** Returns whether a message belongs to no session. A notification may name its revision in the header only. */
export function isStateless(message: Message, headers: IncomingHttpHeaders): boolean {
  if (revisionOf(message) !== null) return true;
  const is_notification = message.method !== undefined && message.id === undefined;
  return is_notification && String(headers["mcp-protocol-version"] ?? "") >= stateless_revision;
}

/** Returns whether a request without sessions does not name its revision in the body. */
export function lacksRevision(message: Message, headers: IncomingHttpHeaders): boolean {
  const named = String(headers["mcp-protocol-version"] ?? "");
  const is_request = message.method !== undefined && message.id !== undefined;
  return is_request && named >= stateless_revision && revisionOf(message) === null;
}

/** Returns how the client's headers disagree with its message; null: they agree. */
export function mismatchOf(message: Message, headers: IncomingHttpHeaders): string | null {
  const { id, method, params = {} } = message;
  if (method === undefined) return null;
  const revision = revisionOf(message);
  if (revision === null) return null;
  const name = nameIn(method, params);
  const expected: readonly (readonly [string, string | null, boolean])[] = [
    ["MCP-Protocol-Version", revision, true],
    ["Mcp-Method", method, true],
    ["Mcp-Name", name, name !== null && !mayLackName(method)],
  ];
  for (const [header, value, is_required] of expected) {
    const given = headers[header.toLowerCase()];
    if (given === undefined ? is_required && id !== undefined : decoded(String(given)) !== value)
      return given === undefined ? `${header} is missing` : `${header} differs from the body`;
  }
  return null;
}

function nameIn(method: string, params: JsonObject): string | null {
  const name = Object.hasOwn(namedBy, method) ? params[namedBy[method] as string] : null;
  return typeof name === "string" ? name : null;
}

/** Returns the headers that repeat parts of a message. */
export function mirroredHeaders(message: Message, parameters: MirroredParameters): Headers {
  const { method, params = {} } = message;
  const revision = revisionOf(message);
  if (revision === null || method === undefined) return {};
  const name = nameIn(method, params);
  return {
    "mcp-protocol-version": encoded(revision),
    "mcp-method": encoded(method),
    ...(name !== null && { "mcp-name": encoded(name) }),
    ...(method === "tools/call" && parameters.headersOf(String(params["name"]), params["arguments"])),
  };
}

interface MirroredParameter {
  /** Names of nested objects in the arguments. */
  readonly path: readonly string[];
  readonly header: string;
}

/** Deeper schemas mirror nothing. */
const depth_max = 32;

/** The arguments of tools that the server wants as headers, from its lists of tools (`x-mcp-header`). */
export class MirroredParameters {
  readonly #tools = new Map<string, readonly MirroredParameter[]>();

  /** Takes the result of any request. */
  learn({ tools }: JsonObject): void {
    for (const tool of Array.isArray(tools) ? (tools as Json[]) : []) {
      if (!isObject(tool) || typeof tool["name"] !== "string") continue;
      const mirrored = mirroredIn(tool["inputSchema"], []);
      if (mirrored.length === 0) this.#tools.delete(tool["name"]);
      else this.#tools.set(tool["name"], mirrored);
    }
  }

  headersOf(tool: string, given: Json | undefined): Headers {
    const values = (this.#tools.get(tool) ?? []).flatMap(({ path, header }) => {
      const text = textAt(given, path);
      return text === null ? [] : [[header, encoded(text)] as const];
    });
    return Object.fromEntries(values);
  }

  /** Returns the first of a client's parameter headers that is missing or differs from its arguments; null: there is none. */
  mismatchOf(tool: string, given: Json | undefined, headers: IncomingHttpHeaders): string | null {
    for (const { path, header } of this.#tools.get(tool) ?? []) {
      const [text, value] = [headers[header], textAt(given, path)];
      if (text === undefined && value !== null) return `${header} is missing`;
      if (text !== undefined && !isSame(decoded(String(text)), value)) return `${header} differs from the body`;
    }
    return null;
  }
}

/** Integers are compared as numbers: 42.0 is 42. */
function isSame(text: string | null, value: string | null): boolean {
  if (text === value) return true;
  return text !== null && value !== null && /^-?\d+(\.0+)?$/.test(text) && /^-?\d+$/.test(value) && +text === +value;
}

export const mirroredTypes: readonly unknown[] = ["string", "integer", "boolean"];

export const isHeaderName = (name: unknown): name is string =>
  typeof name === "string" && /^[\w!#$%&'*+.^`|~-]+$/.test(name);

/** Ignores annotations that the protocol does not allow. */
function mirroredIn(schema: Json | undefined, path: readonly string[]): MirroredParameter[] {
  if (!isObject(schema) || path.length > depth_max) return [];
  const name = schema["x-mcp-header"];
  const own =
    isHeaderName(name) && path.length > 0 && mirroredTypes.includes(schema["type"])
      ? [{ path, header: `mcp-param-${name.toLowerCase()}` }]
      : [];
  const { properties } = schema;
  const nested = isObject(properties)
    ? Object.entries(properties).flatMap(([each, member]) => mirroredIn(member, [...path, each]))
    : [];
  return [...own, ...nested];
}

function textAt(given: Json | undefined, path: readonly string[]): string | null {
  let at: Json | undefined = given;
  for (const name of path) at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  if (typeof at === "number") return Number.isSafeInteger(at) ? String(at) : null;
  return typeof at === "string" || typeof at === "boolean" ? String(at) : null;
}

const wrapped = /^=\?base64\?(.*)\?=$/;

/** Returns a header's value: the text itself, or in Base64 if it would not arrive unchanged. */
function encoded(text: string): string {
  const is_plain = /^[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?$/.test(text) && !wrapped.test(text);
  return is_plain ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

function decoded(value: string): string | null {
  const [, base64] = wrapped.exec(value) ?? [];
  if (base64 === undefined) return value;
  const text = Buffer.from(base64, "base64").toString();
  // Node ignores what is not Base64.
  return Buffer.from(text).toString("base64") === base64 ? text : null;
}
