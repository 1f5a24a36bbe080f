/** Parameter types that the action catalogue records from a tool's input schema. */
import { unknown } from "@countersign/cel";
import type { CatalogueEntry, ParameterType } from "@countersign/contract";
import type { Content } from "./decision.ts";

export interface ParameterTypes {
  readonly byName: ReadonlyMap<string, ParameterType>;
  /** Expression paths, such as `params.amount_usd`. */
  readonly paths: ReadonlySet<string>;
}

export function parameterTypes({ parameters = {} }: CatalogueEntry): ParameterTypes | null {
  const byName = new Map(Object.entries(parameters));
  if (byName.size === 0) return null;
  const paths = [...byName.keys()].flatMap((name) =>
    ["params", "intent.payload.content"].flatMap((root) => [below(root, name), quoted(root, name)]),
  );
  return { byName, paths: new Set(paths) };
}

/** Spells a path like reasons and `declared` do. */
function below(root: string, name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? `${root}.${name}` : `${root}[${JSON.stringify(name)}]`;
}

/** Spells a member in backticks. A name with a dot needs brackets, because `a.b` is another path. */
function quoted(root: string, name: string): string {
  return name.includes(".") ? below(root, name) : `${root}.${name}`;
}

/** Null counts as missing and has every type. */
export function isOfType(value: unknown, type: ParameterType): boolean {
  if (value === null) return true;
  if (type === "integer") return Number.isInteger(value);
  if (type === "array" || Array.isArray(value)) return type === "array" && Array.isArray(value);
  return typeof value === type;
}

/** Marks parameters of a wrong type as unknown. */
export function typedContent(content: Content, types: ParameterTypes): Content {
  const wrong = [...types.byName].filter(
    ([name, type]) => Object.hasOwn(content, name) && !isOfType(content[name], type),
  );
  if (wrong.length === 0) return content;
  return { ...content, ...Object.fromEntries(wrong.map(([name]) => [name, unknown(below("params", name), "type")])) };
}
