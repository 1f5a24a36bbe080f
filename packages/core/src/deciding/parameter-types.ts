/** The types of a tool's parameters, as the membrane's action catalogue records them from the tool's input schema. */
import { unknown } from "@countersign/cel";
import type { CatalogueEntry, ParameterType } from "@countersign/contract";
import type { Content } from "./decision.ts";

/** The types of one tool, prepared for decisions. */
export interface ParameterTypes {
  readonly byName: ReadonlyMap<string, ParameterType>;
  /** The same parameters as expressions name them, such as `params.amount_usd`. */
  readonly paths: ReadonlySet<string>;
}

/** Returns the types of an entry; null: it has none. */
export function parameterTypes({ parameters = {} }: CatalogueEntry): ParameterTypes | null {
  const byName = new Map(Object.entries(parameters));
  if (byName.size === 0) return null;
  const paths = [...byName.keys()].flatMap((name) =>
    ["params", "intent.payload.content"].flatMap((root) => [below(root, name), quoted(root, name)]),
  );
  return { byName, paths: new Set(paths) };
}

/** Returns the path of a member as reasons and `declared` paths of an evaluation spell it. */
function below(root: string, name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? `${root}.${name}` : `${root}[${JSON.stringify(name)}]`;
}

/** Returns the path of a member that an expression writes between backticks. With a dot in its name it would be another path, too. */
function quoted(root: string, name: string): string {
  return name.includes(".") ? below(root, name) : `${root}.${name}`;
}

/** Whether a JSON value is of this type. A null counts as missing, so it is of every type. */
export function isOfType(value: unknown, type: ParameterType): boolean {
  if (value === null) return true;
  if (type === "integer") return Number.isInteger(value);
  if (type === "array" || Array.isArray(value)) return type === "array" && Array.isArray(value);
  return typeof value === type;
}

/** Returns the content as expressions see it: a parameter is unknown if its value does not have the recorded type. */
export function typedContent(content: Content, types: ParameterTypes): Content {
  const wrong = [...types.byName].filter(
    ([name, type]) => Object.hasOwn(content, name) && !isOfType(content[name], type),
  );
  if (wrong.length === 0) return content;
  return { ...content, ...Object.fromEntries(wrong.map(([name]) => [name, unknown(below("params", name), "type")])) };
}
