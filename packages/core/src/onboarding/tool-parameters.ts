import { limits, type ParameterType, parameterTypeNames } from "@countersign/contract";
import type { Tool, ToolAction } from "./classify-tool.ts";

const types: ReadonlySet<unknown> = new Set(parameterTypeNames);

/**
 * Returns the parameters with one type, or one type and null, also as anyOf or oneOf. At most
 * `limits.tool_parameters_max`.
 */
export function parametersOf({ input_schema, inputSchema }: Tool): Pick<ToolAction, "parameters"> {
  const { properties } = objectOf(input_schema ?? inputSchema);
  const typed = Object.entries(objectOf(properties)).flatMap(([name, schema]) => {
    const type = typeOf(objectOf(schema));
    return type === null || name === "" || name.length > limits.label_chars_max ? [] : [[name, type] as const];
  });
  if (typed.length === 0) return {};
  return { parameters: Object.fromEntries(typed.slice(0, limits.tool_parameters_max)) };
}

/** Pydantic writes an optional parameter as `anyOf: [{type: "string"}, {type: "null"}]`. */
function typeOf({ type, anyOf, oneOf }: Readonly<Record<string, unknown>>): ParameterType | null {
  if (type !== undefined) return oneType(type);
  const members = [anyOf ?? oneOf].flat().map((member) => objectOf(member)["type"]);
  const others = members.filter((member) => member !== "null");
  return others.length === 1 ? oneType(others[0]) : null;
}

function oneType(type: unknown): ParameterType | null {
  const [only, second] = [type].flat().filter((each) => each !== "null");
  return second === undefined && types.has(only) ? (only as ParameterType) : null;
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
