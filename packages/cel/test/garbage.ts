import { expression } from "./expressions.ts";
import type { Random } from "./random.ts";

const PIECES = [
  "a",
  "b",
  "foo",
  "x",
  "in",
  "has",
  "all",
  "exists",
  "map",
  "cel",
  "bind",
  "true",
  "false",
  "null",
  "if",
  "and",
  "1",
  "0x1F",
  "1u",
  "1.5",
  "1e9",
  ".5",
  "9223372036854775808",
  '"',
  "'",
  '"""',
  "'''",
  'r"',
  'b"',
  "\\",
  "\\n",
  "\\x",
  "\\u00",
  "`",
  "`a b`",
  "(",
  ")",
  "[",
  "]",
  "{",
  "}",
  "?",
  ":",
  ",",
  ".",
  ".?",
  "[?",
  "&&",
  "||",
  "&",
  "|",
  "==",
  "=",
  "!=",
  "!",
  "<",
  "<=",
  ">",
  ">=",
  "+",
  "-",
  "*",
  "/",
  "%",
  "//",
  "\n",
  "\r",
  "\t",
  " ",
  "\u0000",
  "\ud800",
  "ü",
  "🐱",
  "\u202e",
  "\u00a0",
  ";",
  "@",
  "#",
  "$",
  "^",
  "~",
];

export function garbage(r: Random): string {
  const n = r.chance(0.02) ? 2_000 : r.below(40);
  const between = r.pick(["", " "]);
  return Array.from({ length: n }, () => (r.chance(0.05) ? String.fromCharCode(r.below(65_536)) : r.pick(PIECES))).join(
    between,
  );
}

export function mutated(r: Random): string {
  let source = expression(r, 1 + r.below(3));
  for (let i = 1 + r.below(4); i > 0; i--) {
    const at = r.below(source.length + 1);
    const length = r.below(4);
    const piece = r.pick<() => string>([
      () => "",
      () => r.pick(PIECES),
      () => source.slice(r.below(source.length + 1)).slice(0, 20),
    ])();
    source = source.slice(0, at) + piece + source.slice(at + length);
  }
  return source;
}
