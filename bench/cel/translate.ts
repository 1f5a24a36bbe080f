import { type Expr, parse } from "@countersign/cel";

/** Translates only the part of CEL that the benchmark uses. */
export function toCedar(source: string): string {
  return cedar(parse(source).root);
}

export function toZen(source: string): string {
  return zen(parse(source).root);
}

function quoted(value: unknown): string {
  return JSON.stringify(value);
}

function number(value: unknown): string {
  return String(value);
}

function cedar(e: Expr): string {
  switch (e.kind) {
    case "literal":
      return e.type === "string" ? quoted(e.value) : number(e.value);
    case "ident":
      return `context.${e.name}`;
    case "select":
      return `${cedar(e.operand)}.${e.field}`;
    case "has":
      return `(${cedar(e.target.operand)} has ${e.target.field})`;
    case "unary":
      return `${e.op}(${cedar(e.operand)})`;
    case "logic":
      return `(${e.args.map(cedar).join(` ${e.op} `)})`;
    case "list":
      return `[${e.elements.map((x) => cedar(x.value)).join(", ")}]`;
    case "binary":
      return e.op === "in"
        ? `${cedar(e.right)}.contains(${cedar(e.left)})`
        : `(${cedar(e.left)} ${e.op} ${cedar(e.right)})`;
    case "call":
      if (e.name === "startsWith" && e.target !== null && e.args[0]?.kind === "literal")
        return `(${cedar(e.target)} like ${quoted(`${String(e.args[0].value)}*`)})`;
  }
  throw new Error(`not translated: ${e.kind}`);
}

function zen(e: Expr): string {
  switch (e.kind) {
    case "literal":
      return e.type === "string" ? quoted(e.value) : number(e.value);
    case "ident":
      return e.name;
    case "select":
      return `${zen(e.operand)}.${e.field}`;
    case "has":
      return `(${zen(e.target)} != null)`;
    case "unary":
      return e.op === "!" ? `(not (${zen(e.operand)}))` : `-(${zen(e.operand)})`;
    case "logic":
      return `(${e.args.map(zen).join(e.op === "&&" ? " and " : " or ")})`;
    case "list":
      return `[${e.elements.map((x) => zen(x.value)).join(", ")}]`;
    case "binary":
      return `(${zen(e.left)} ${e.op} ${zen(e.right)})`;
    case "call":
      if (e.name === "startsWith" && e.target !== null && e.args[0] !== undefined)
        return `startsWith(${zen(e.target)}, ${zen(e.args[0])})`;
  }
  throw new Error(`not translated: ${e.kind}`);
}
