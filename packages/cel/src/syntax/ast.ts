export const LIMITS = {
  /** UTF-8 bytes. */
  source_bytes: 16_384,
  nodes: 1_000,
  /** A chain of `&&` or `+` is not nesting. */
  depth: 64,
} as const;

/** Offsets in UTF-16 units. */
export interface Place {
  readonly id: number;
  readonly start: number;
  readonly end: number;
}

export type LiteralType = "null" | "bool" | "int" | "uint" | "double" | "string" | "bytes";
export type BinaryOp = "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "+" | "-" | "*" | "/" | "%";
export type FoldMacro =
  | "all"
  | "exists"
  | "exists_one"
  | "map"
  | "filter"
  | "transformList"
  | "transformMap"
  | "transformMapEntry";

export interface Literal extends Place {
  readonly kind: "literal";
  readonly type: LiteralType;
  /** int and uint as bigint (see `type`), double as number, bytes as Uint8Array. */
  readonly value: null | boolean | number | bigint | string | Uint8Array;
}
export interface Ident extends Place {
  readonly kind: "ident";
  readonly name: string;
  /** `.name`: never searched in the container or among comprehension variables. */
  readonly absolute: boolean;
}
export interface Select extends Place {
  readonly kind: "select";
  readonly operand: Expr;
  readonly field: string;
  readonly fieldStart: number;
  /** `a.?b` */
  readonly optional: boolean;
  /** Written between backticks, so never part of a qualified name. */
  readonly quoted: boolean;
}
interface Has extends Place {
  readonly kind: "has";
  readonly target: Select;
}
export interface Index extends Place {
  readonly kind: "index";
  readonly operand: Expr;
  readonly index: Expr;
  /** `a[?b]` */
  readonly optional: boolean;
}
export interface Call extends Place {
  readonly kind: "call";
  readonly name: string;
  readonly nameStart: number;
  readonly target: Expr | null;
  readonly args: readonly Expr[];
}
interface Unary extends Place {
  readonly kind: "unary";
  readonly op: "!" | "-";
  readonly operand: Expr;
}
export interface Binary extends Place {
  readonly kind: "binary";
  readonly op: BinaryOp;
  readonly opStart: number;
  readonly left: Expr;
  readonly right: Expr;
}
export interface Logic extends Place {
  readonly kind: "logic";
  readonly op: "&&" | "||";
  /** A chain of one operator is one node. */
  readonly args: readonly Expr[];
}
interface Conditional extends Place {
  readonly kind: "conditional";
  readonly test: Expr;
  readonly yes: Expr;
  readonly no: Expr;
}
interface ListLiteral extends Place {
  readonly kind: "list";
  readonly elements: readonly { readonly value: Expr; readonly optional: boolean }[];
}
export interface MapLiteral extends Place {
  readonly kind: "map";
  readonly entries: readonly { readonly key: Expr; readonly value: Expr; readonly optional: boolean }[];
}
interface MessageLiteral extends Place {
  readonly kind: "message";
  readonly name: string;
  readonly fields: readonly { readonly field: string; readonly start: number; readonly value: Expr }[];
}
export interface Fold extends Place {
  readonly kind: "fold";
  readonly macro: FoldMacro;
  readonly range: Expr;
  /** One (element or key), or two (index and element, or key and value). */
  readonly names: readonly [string] | readonly [string, string];
  readonly filter: Expr | null;
  readonly body: Expr | null;
}
/** `cel.bind(name, value, body)` */
interface Bind extends Place {
  readonly kind: "bind";
  readonly name: string;
  readonly value: Expr;
  readonly body: Expr;
}
/** `target.optMap(name, body)` and `optFlatMap`. */
interface OptionalMap extends Place {
  readonly kind: "optional_map";
  readonly target: Expr;
  readonly name: string;
  readonly body: Expr;
  readonly flat: boolean;
}

export type Expr =
  | Literal
  | Ident
  | Select
  | Has
  | Index
  | Call
  | Unary
  | Binary
  | Logic
  | Conditional
  | ListLiteral
  | MapLiteral
  | MessageLiteral
  | Fold
  | Bind
  | OptionalMap;

export interface Ast {
  readonly source: string;
  readonly root: Expr;
  readonly nodes: number;
}

/** Returns `a.b.c`, or null if the expression is no such chain. */
export function dottedName(expr: Expr): string | null {
  let suffix = "";
  for (let e = expr; ; e = e.operand) {
    if (e.kind === "ident") return e.name + suffix;
    if (e.kind !== "select" || e.optional || e.quoted) return null;
    suffix = `.${e.field}${suffix}`;
  }
}
