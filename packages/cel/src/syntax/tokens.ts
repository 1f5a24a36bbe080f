import type { LiteralType } from "./ast.ts";

/** One token; `text` is the name, the punctuation, or empty for a literal. */
export interface Token {
  readonly kind: "name" | "quoted" | "literal" | "punctuation" | "end";
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly type: LiteralType | null;
  readonly value: null | boolean | number | bigint | string | Uint8Array;
}

/** Words that may not be used as names, only as fields: they are kept for languages CEL is embedded in. */
export const RESERVED: ReadonlySet<string> = new Set(
  "as break const continue else for function if import let loop package namespace return var void while".split(" "),
);
