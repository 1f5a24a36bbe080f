import type { Expr } from "@countersign/cel";
import { Intent } from "@countersign/contract";
import { namesGiven, nodesOf } from "../nodes-of.ts";
import { suggestName } from "./suggest-name.ts";

export interface UnknownMember {
  /** Offset in UTF-16 units. */
  readonly start: number;
  readonly message: string;
  readonly help: string;
}

/** A schema that refuses other members. */
interface Closed {
  readonly properties: Readonly<Record<string, object>>;
}

/** Finds members of `intent` and `action.target` that no accepted submission has. The source must parse. */
export function unknownMembers(source: string): UnknownMember[] {
  const nodes = [...nodesOf(source)];
  const own = new Set(nodes.flatMap(namesGiven));
  const found: UnknownMember[] = [];
  for (const node of nodes) {
    const read = memberOf(node);
    const whole = read === null ? null : shapeOf(read.of, own);
    if (read === null || whole === null || Object.hasOwn(whole.properties, read.name)) continue;
    const known = Object.keys(whole.properties);
    const help = suggestName(read.name, known) ?? `It has ${known.join(", ")}.`;
    found.push({ start: read.start, message: `No intent has ${read.name} here.`, help });
  }
  return found.sort((a, b) => a.start - b.start);
}

/** Reads `of.name` or `of["name"]`; else null. */
function memberOf(node: Expr): { readonly of: Expr; readonly name: string; readonly start: number } | null {
  if (node.kind === "select") return { of: node.operand, name: node.field, start: node.fieldStart };
  if (node.kind !== "index" || node.index.kind !== "literal" || typeof node.index.value !== "string") return null;
  return { of: node.operand, name: node.index.value, start: node.index.start };
}

/** Null for other values and for parts with arbitrary members. */
function shapeOf(node: Expr, own: ReadonlySet<string>): Closed | null {
  if (node.kind === "ident") {
    if (own.has(node.name)) return null;
    if (node.name === "intent") return closed(Intent);
    return node.name === "action" ? closed(Intent.properties.action) : null;
  }
  const read = memberOf(node);
  return read === null ? null : closed(shapeOf(read.of, own)?.properties[read.name]);
}

function closed(schema: object | undefined): Closed | null {
  return schema !== undefined && "properties" in schema && "additionalProperties" in schema ? (schema as Closed) : null;
}
