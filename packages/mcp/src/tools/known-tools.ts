import { isObject, type JsonObject } from "../protocol/messages.ts";

export interface KnownTool {
  readonly title: string | null;
  /** As annotated. The protocol's defaults are: a tool writes, and may destroy. */
  readonly reads_only: boolean;
  readonly destroys: boolean;
}

/** Returns the tools of one answer to `tools/list`, by name. */
export function toolsIn(result: JsonObject): Map<string, KnownTool> {
  const tools = Array.isArray(result["tools"]) ? result["tools"].filter(isObject) : [];
  return new Map(tools.flatMap((tool) => (typeof tool["name"] === "string" ? [[tool["name"], known(tool)]] : [])));
}

function known(tool: JsonObject): KnownTool {
  const notes = isObject(tool["annotations"]) ? tool["annotations"] : {};
  const titles = [tool["title"], notes["title"]].filter((each): each is string => typeof each === "string");
  const reads_only = notes["readOnlyHint"] === true;
  return { title: titles[0] ?? null, reads_only, destroys: !reads_only && notes["destructiveHint"] !== false };
}
