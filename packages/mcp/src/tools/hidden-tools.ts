import { type BlockedTools, limits } from "@countersign/contract";
import { readExactly } from "../protocol/exact-json.ts";
import { isObject, type Json } from "../protocol/messages.ts";

type FindBlocked = (verbs: string[]) => Promise<BlockedTools["blocked"]>;

/**
 * Returns the answer to `tools/list` without the tools whose calls are always blocked. Never rejects: if the service
 * does not say which they are, the list stays whole, because calls are decided anyway.
 */
export async function withoutBlocked(line: string, find: FindBlocked, note: (text: string) => void): Promise<string> {
  try {
    const { value, write } = readExactly(line);
    const result = isObject(value) ? value["result"] : null;
    if (!isObject(value) || !isObject(result) || !Array.isArray(result["tools"])) return line;
    const tools: readonly Json[] = result["tools"];
    // Longer names are in no intent.
    const names = tools.flatMap((tool) => nameOf(tool) ?? []).filter((name) => name.length <= limits.verb_chars_max);
    if (names.length === 0) return line;
    const blocked = await find(names.slice(0, limits.asked_tools_max));
    if (blocked.length === 0) return line;
    const hidden = new Map(blocked.map(({ verb, policy }) => [verb, policy]));
    note(`hidden tools: ${[...hidden].map(([verb, policy]) => `${verb} (${policy})`).join(", ")}`);
    const shown = tools.filter((tool) => !hidden.has(nameOf(tool) ?? ""));
    // The list is now of this agent only, so no shared cache may keep it.
    const cached = result["cacheScope"] === undefined ? {} : { cacheScope: "private" };
    return write({ ...value, result: { ...result, ...cached, tools: shown } });
  } catch (error) {
    note(`no tool is hidden, because it is not known which are always blocked: ${(error as Error).message}`);
    return line;
  }
}

function nameOf(tool: Json): string | null {
  return isObject(tool) && typeof tool["name"] === "string" ? tool["name"] : null;
}
