import type { LiteralType } from "./ast.ts";

export interface Token {
  readonly kind: "name" | "quoted" | "literal" | "punctuation" | "end";
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly type: LiteralType | null;
  readonly value: null | boolean | number | bigint | string | Uint8Array;
}

/** Reserved words may be fields, but not names. */
export const RESERVED: ReadonlySet<string> = new Set(
  "as break const continue else for function if import let loop package namespace return var void while".split(" "),
);
