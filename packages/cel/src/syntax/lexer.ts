import { type Diagnostic, diagnostic, type Finding } from "../diagnostics.ts";
import { intern } from "./intern.ts";
import { decodeDouble, decodeText, decodeUint, LiteralProblem } from "./literals.ts";
import type { Token } from "./tokens.ts";

/** `tokens` ends with an `end` token. */
export interface Lexed {
  readonly tokens: readonly Token[];
  readonly diagnostics: readonly Diagnostic[];
}

const namePattern = /[_a-zA-Z][_a-zA-Z0-9]*/y;
const numberPattern =
  /(?:0[xX][0-9a-fA-F]+|[0-9]+)[uU]|0[xX][0-9a-fA-F]+|(?:[0-9]+\.[0-9]+|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|[0-9]+/y;
const spacePattern = /(?:[ \t\n\f\r]+|\/\/[^\n]*)+/y;
const quotedPattern = /`[a-zA-Z0-9_.\-/ ]+`/y;
const prefixPattern = /(?:[rR][bB]?|[bB][rR]?)?(?="|')/y;
/** Tested first, because most tokens begin with other characters. */
const QUOTES_AND_PREFIXES: ReadonlySet<number> = new Set(Array.from("\"'rRbB", (q) => q.charCodeAt(0)));
const punctuationPattern = /&&|\|\||==|!=|<=|>=|[-<>+*/%!?:,.()[\]{}]/y;

/** Skips an unreadable piece with a diagnostic, so that one run reports several. */
export function lex(source: string): Lexed {
  const tokens: Token[] = [];
  const diagnostics: Diagnostic[] = [];
  const fail = (finding: Finding) => {
    if (diagnostics.length < 20) diagnostics.push(diagnostic(source, finding));
  };
  const token = (kind: Token["kind"], text: string, start: number, end: number): void => {
    tokens.push({ kind, text, start, end, type: null, value: null });
  };
  const match = (pattern: RegExp, at: number): string | null => {
    pattern.lastIndex = at;
    return pattern.exec(source)?.[0] ?? null;
  };

  let at = 0;
  while (at < source.length) {
    const c = source.charCodeAt(at);
    const space = c <= 32 || c === 47 ? match(spacePattern, at) : null;
    if (space !== null) {
      at += space.length;
      continue;
    }
    const prefix = QUOTES_AND_PREFIXES.has(c) ? match(prefixPattern, at) : null;
    if (prefix !== null) {
      at = text(source, at, prefix.toLowerCase(), tokens, fail);
      continue;
    }
    const name = match(namePattern, at);
    if (name !== null) {
      const end = at + name.length;
      if (name === "true" || name === "false") {
        tokens.push({ kind: "literal", text: name, start: at, end, type: "bool", value: name === "true" });
      } else if (name === "null") {
        tokens.push({ kind: "literal", text: name, start: at, end, type: "null", value: null });
      } else {
        token("name", intern(name), at, end);
      }
      at = end;
      continue;
    }
    const digit =
      (c >= 48 && c <= 57) || (c === 46 && source.charCodeAt(at + 1) >= 48 && source.charCodeAt(at + 1) <= 57);
    if (digit) {
      at = number(source, at, match(numberPattern, at) ?? "", tokens, fail);
      continue;
    }
    if (c === 96) {
      const quoted = match(quotedPattern, at);
      if (quoted !== null) {
        token("quoted", intern(quoted.slice(1, -1)), at, at + quoted.length);
        at += quoted.length;
        continue;
      }
      const close = source.indexOf("`", at + 1);
      const end = close < 0 ? source.length : close + 1;
      fail({
        code: "syntax",
        start: at,
        end,
        message: close < 0 ? "this backtick is never closed" : "this is not a field name",
        help: "between backticks, use letters, digits, `_`, `.`, `-`, `/` and spaces",
      });
      at = end;
      continue;
    }
    const punctuation = match(punctuationPattern, at);
    if (punctuation !== null) {
      token("punctuation", punctuation, at, at + punctuation.length);
      at += punctuation.length;
      continue;
    }
    const shown = String.fromCodePoint(source.codePointAt(at) ?? 0);
    fail({
      code: "syntax",
      start: at,
      end: at + shown.length,
      message: `unexpected character ${describe(shown)}`,
      help: helpFor(shown),
    });
    at += shown.length;
  }
  token("end", "end of expression", source.length, source.length);
  return { tokens, diagnostics };
}

function text(source: string, start: number, prefix: string, tokens: Token[], fail: (f: Finding) => void): number {
  const open = start + prefix.length;
  const quote = source[open] ?? '"';
  const triple = source.startsWith(quote.repeat(3), open);
  const close = triple ? quote.repeat(3) : quote;
  const from = open + close.length;
  const raw = prefix.includes("r");
  let i = from;
  for (; ; i++) {
    const c = source[i];
    if (c === undefined || (!triple && (c === "\n" || c === "\r"))) {
      fail({ code: "literal", start, end: i, message: "this string is never closed", help: `close it with ${close}` });
      return i;
    }
    if (c === "\\" && !raw) i++;
    else if (c === quote && source.startsWith(close, i)) break;
  }
  const end = i + close.length;
  const bytes = prefix.includes("b");
  try {
    const decoded = decodeText(source, from, i, raw, bytes);
    const value = typeof decoded === "string" ? intern(decoded) : decoded;
    tokens.push({ kind: "literal", text: "", start, end, type: bytes ? "bytes" : "string", value });
  } catch (e) {
    if (!(e instanceof LiteralProblem)) throw e;
    fail({ code: "literal", start: e.at, end: e.until, message: e.message, help: e.help });
  }
  return end;
}

function number(source: string, start: number, digits: string, tokens: Token[], fail: (f: Finding) => void): number {
  let end = start + digits.length;
  if (/[_a-zA-Z]/.test(source[end] ?? "")) {
    const from = end;
    while (/[_a-zA-Z0-9]/.test(source[end] ?? "")) end++;
    fail({
      code: "literal",
      start,
      end,
      message: `\`${source.slice(start, end)}\` is neither a number nor a name`,
      help: source[from] === "_" ? "numbers are written without separators" : "a name starts with a letter or `_`",
    });
    return end;
  }
  const push = (type: "int" | "uint" | "double", value: bigint | number) =>
    tokens.push({ kind: "literal", text: digits, start, end, type, value });
  try {
    if (/[uU]$/.test(digits)) push("uint", decodeUint(digits.slice(0, -1), start, end));
    // The parser checks the range of an int, which depends on the sign.
    else if (/^(?:0[xX][0-9a-fA-F]+|[0-9]+)$/.test(digits)) push("int", BigInt(digits));
    else push("double", decodeDouble(digits, start, end));
  } catch (e) {
    if (!(e instanceof LiteralProblem)) throw e;
    fail({ code: "literal", start: e.at, end: e.until, message: e.message, help: e.help });
  }
  return end;
}

function describe(c: string): string {
  const code = (c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return /[\p{L}\p{N}\p{P}\p{S}]/u.test(c) ? `\`${c}\` (U+${code})` : `U+${code}`;
}

function helpFor(c: string): string | null {
  if (c === "&") return "and is written `&&`";
  if (c === "|") return "or is written `||`";
  if (c === "=") return "equality is written `==`";
  if ("\u201c\u201d\u2018\u2019\u00ab\u00bb".includes(c)) return 'strings are written between straight quotes: "…"';
  if (c === "\u00a0") return "this is a no-break space; use a plain one";
  if (c === ";") return "an expression has no end mark";
  return null;
}
