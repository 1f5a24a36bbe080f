/** The definition of a tool: what its server tells the model about it. */
import { isObject, type Json, type JsonObject } from "../protocol/messages.ts";

const members = ["title", "description", "inputSchema", "outputSchema", "annotations"] as const;

/** Without members that the model does not get, such as icons and `_meta`. */
export type Definition = JsonObject;

function definitionOf(tool: JsonObject): Definition {
  return Object.fromEntries(members.flatMap((name) => (tool[name] === undefined ? [] : [[name, tool[name]]])));
}

/** Returns the tools of one answer to `tools/list`, also those that have the same name. */
export function definitionsIn({ tools }: JsonObject): [string, Definition][] {
  const listed = Array.isArray(tools) ? tools.filter(isObject) : [];
  return listed.flatMap((tool) => (typeof tool["name"] === "string" ? [[tool["name"], definitionOf(tool)]] : []));
}

export function isSame(a: Json | undefined, b: Json | undefined): boolean {
  return canonicalText(a) === canonicalText(b);
}

/** Returns the members that differ, as they were and as they are now; null: absent. */
export function changeOf(was: Definition, now: Definition): { readonly was: JsonObject; readonly now: JsonObject } {
  const differing = members.filter((name) => !isSame(was[name], now[name]));
  const only = (definition: Definition) =>
    Object.fromEntries(differing.map((name) => [name, definition[name] ?? null]));
  return { was: only(was), now: only(now) };
}

/** Returns JSON that does not depend on the order of members. */
function canonicalText(value: Json | undefined): string {
  return JSON.stringify(value, (_, part: Json) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}
