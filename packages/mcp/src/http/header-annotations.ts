/**
 * Tools whose annotations for headers (`x-mcp-header`) the protocol does not allow. It wants clients that speak HTTP to
 * leave such tools out of `tools/list`.
 */
import { readExactly } from "../protocol/exact-json.ts";
import { isObject, type Json, type JsonObject, objectIn } from "../protocol/messages.ts";
import { isHeaderName, mirroredTypes } from "./mirrored-headers.ts";

/** Deeper schemas mirror nothing. */
const depth_max = 64;
/** Keywords with values instead of schemas. */
const with_values: ReadonlySet<string> = new Set(["default", "const", "enum", "examples"]);

type Place = "root" | "property" | "elsewhere";

/** Returns the answer to `tools/list` without these tools. */
export function withoutFaultyTools(line: string, note: (text: string) => void): string {
  const faults = toolsOf(objectIn(line) ?? {}).map((tool) =>
    isObject(tool) ? faultIn(tool["inputSchema"], new Set(), "root", 0) : null,
  );
  if (faults.every((fault) => fault === null)) return line;
  const { value, write } = readExactly(line);
  if (!isObject(value) || !isObject(value["result"])) return line;
  const tools = toolsOf(value);
  for (const [at, fault] of faults.entries()) {
    const tool = tools[at];
    if (fault !== null && isObject(tool)) note(`a tool was left out: ${JSON.stringify(tool["name"])}: ${fault}`);
  }
  const kept = tools.filter((_, at) => faults[at] === null);
  return write({ ...value, result: { ...value["result"], tools: kept } });
}

function toolsOf({ result }: JsonObject): readonly Json[] {
  const tools = isObject(result) ? result["tools"] : null;
  return Array.isArray(tools) ? tools : [];
}

/** Returns what the protocol does not allow; null: nothing. `names`: the headers so far. */
function faultIn(schema: Json | undefined, names: Set<string>, place: Place, depth: number): string | null {
  if (typeof schema !== "object" || schema === null || depth > depth_max) return null;
  const own = isObject(schema) && Object.hasOwn(schema, "x-mcp-header") ? ownFault(schema, names, place) : null;
  if (own !== null) return own;
  for (const [keyword, member] of Object.entries(schema)) {
    const is_properties = keyword === "properties" && isObject(member) && place !== "elsewhere";
    const parts = is_properties ? Object.values(member) : with_values.has(keyword) ? [] : [member];
    for (const part of parts) {
      const fault = faultIn(part, names, is_properties ? "property" : "elsewhere", depth + 1);
      if (fault !== null) return fault;
    }
  }
  return null;
}

function ownFault({ type, "x-mcp-header": name }: JsonObject, names: Set<string>, place: Place): string | null {
  if (place !== "property") return "its x-mcp-header is not at a property of the arguments";
  if (!isHeaderName(name)) return `its x-mcp-header is no name of a header: ${JSON.stringify(name)}`;
  if (!mirroredTypes.includes(type)) return `its x-mcp-header ${name} is at a type that no header repeats`;
  if (names.has(name.toLowerCase())) return `two properties have the x-mcp-header ${name}`;
  names.add(name.toLowerCase());
  return null;
}
