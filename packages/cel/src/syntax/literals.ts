export class LiteralProblem extends Error {
  readonly at: number;
  readonly until: number;
  readonly help: string | null;

  constructor(message: string, at: number, until: number, help: string | null = null) {
    super(message);
    this.at = at;
    this.until = until;
    this.help = help;
  }
}

const SIMPLE = new Map(Object.entries({ a: "\x07", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" }));
for (const c of "\\?\"'`") SIMPLE.set(c, c);

const encoder = new TextEncoder();

/**
 * Decodes text without its quotes. In bytes, `\x` and octal escapes are bytes and all else is UTF-8. In strings they
 * are code points.
 */
export function decodeText(
  source: string,
  from: number,
  to: number,
  raw: boolean,
  bytes: boolean,
): string | Uint8Array {
  const body = source.slice(from, to);
  if (raw || !body.includes("\\")) return bytes ? encoder.encode(body) : body;
  let text = "";
  const out: number[] = [];
  const flush = () => {
    for (const b of encoder.encode(text)) out.push(b);
    text = "";
  };
  for (let i = from; i < to; ) {
    const next = source.indexOf("\\", i);
    const plain = next < 0 || next >= to ? to : next;
    text += source.slice(i, plain);
    if (plain === to) break;
    const found = readEscape(source, plain, to, bytes);
    if (bytes && found.byte) {
      flush();
      out.push(found.code);
    } else {
      text += found.text ?? String.fromCodePoint(found.code);
    }
    i = found.end;
  }
  if (!bytes) return text;
  flush();
  return Uint8Array.from(out);
}

interface Escape {
  readonly end: number;
  readonly code: number;
  readonly text: string | null;
  readonly byte: boolean;
}

function readEscape(source: string, at: number, to: number, bytes: boolean): Escape {
  const letter = source[at + 1] ?? "";
  const simple = SIMPLE.get(letter);
  if (simple !== undefined) return { end: at + 2, code: 0, text: simple, byte: false };
  if (letter === "x" || letter === "X") return digits(source, at, 2, 16, 2, to, true);
  if (letter >= "0" && letter <= "3" && letter !== "") return digits(source, at, 1, 8, 3, to, true);
  if ((letter === "u" || letter === "U") && !bytes) {
    const e = digits(source, at, 2, 16, letter === "u" ? 4 : 8, to, false);
    if (e.code > 0x10ffff || (e.code >= 0xd800 && e.code <= 0xdfff)) {
      throw new LiteralProblem(`\`${source.slice(at, e.end)}\` is not a Unicode code point`, at, e.end);
    }
    return e;
  }
  const shown = String.fromCodePoint(source.codePointAt(at + 1) ?? 32);
  throw new LiteralProblem(
    `\`\\${shown}\` is not an escape sequence`,
    at,
    at + 1 + shown.length,
    bytes && (letter === "u" || letter === "U")
      ? "bytes take \\x and octal escapes, not code points"
      : `write \`\\\\\` for a backslash, or put r before the quotes: r"…"`,
  );
}

function digits(
  source: string,
  at: number,
  skip: number,
  base: 8 | 16,
  count: number,
  to: number,
  byte: boolean,
): Escape {
  const end = at + skip + count;
  const text = source.slice(at + skip, Math.min(end, to));
  if (!(base === 16 ? /^[0-9a-fA-F]+$/ : /^[0-7]+$/).test(text) || text.length !== count) {
    const what = base === 16 ? "hexadecimal" : "octal";
    throw new LiteralProblem(`this escape needs ${count} ${what} digits`, at, Math.min(end, to));
  }
  return { end, code: Number.parseInt(text, base), text: null, byte };
}

const INT_MIN = -(2n ** 63n);
const int_max = 2n ** 63n - 1n;
const uint_max = 2n ** 64n - 1n;

/** `digits` are decimal or 0x…, without sign. */
export function decodeInt(digits: string, negative: boolean, at: number, until: number): bigint {
  const value = negative ? -BigInt(digits) : BigInt(digits);
  if (value < INT_MIN || value > int_max) {
    throw new LiteralProblem(
      "this number does not fit into a 64-bit int",
      at,
      until,
      `write \`${digits}.0\` for a double`,
    );
  }
  return value;
}

/** A decimal is never infinite, as in `double("…")`. */
export function decodeDouble(digits: string, at: number, until: number): number {
  const value = Number(digits);
  if (!Number.isFinite(value))
    throw new LiteralProblem("this number does not fit into a double", at, until, "write one below `1.8e308`");
  return value;
}

export function decodeUint(digits: string, at: number, until: number): bigint {
  const value = BigInt(digits);
  if (value > uint_max) throw new LiteralProblem("this number does not fit into a 64-bit uint", at, until);
  return value;
}
