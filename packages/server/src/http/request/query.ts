/** Refuses unknown parameters, because `?mod=shadow` must not run live. */
import { type FaultDetail, pointerPart } from "@countersign/core";
import { type Check, compileCheck } from "./validate.ts";

interface Property {
  readonly type?: unknown;
}

/** `problems` name the parameter as a JSON Pointer (`/limit`). */
export type ReadQuery = (url: string) => { readonly query: object } | { readonly problems: readonly FaultDetail[] };

const nothing = { query: Object.freeze({}) };

/** Undefined: the operation takes no parameters. */
export function queryReader(schema: object | undefined): ReadQuery {
  const closed = schema ?? { type: "object", properties: {}, additionalProperties: false };
  const properties = new Map(Object.entries((closed as { properties: Record<string, Property> }).properties));
  const check = compileCheck(closed);
  const required = ((closed as { required?: readonly string[] }).required ?? []).length > 0;

  return (url) => {
    const mark = url.indexOf("?");
    if (mark === -1 && !required) return nothing;
    return read(mark === -1 ? "" : url.slice(mark + 1), properties, check);
  };
}

function read(text: string, properties: ReadonlyMap<string, Property>, check: Check): ReturnType<ReadQuery> {
  const query: Record<string, unknown> = Object.create(null);
  const problems: FaultDetail[] = [];
  // `URLSearchParams` removes the first question mark, but in `??name=a` the parameter is `?name`.
  for (const [name, value] of new URLSearchParams(`?${text}`)) {
    const path = `/${pointerPart(name)}`;
    if (Object.hasOwn(query, name)) problems.push({ path, code: "not_allowed", message: "Give this parameter once." });
    if (value.includes("\0")) problems.push({ path, code: "forbidden_character", message: "Remove NUL characters." });
    query[name] = readValue(value, properties.get(name)?.type);
    if (problems.length >= 10) break;
  }
  if (problems.length > 0) return { problems };
  const found = check(query, text.length);
  return found === null ? { query } : { problems: found };
}

/** The schema refuses other texts. */
function readValue(text: string, type: unknown): unknown {
  if ((type === "integer" || type === "number") && /^-?\d{1,15}(\.\d{1,6})?$/.test(text)) return Number(text);
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}
