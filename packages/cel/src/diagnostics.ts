/** Only `error` prevents compilation. */
export type Severity = "error" | "warning" | "hint";

/** Stable codes, so that tools may rely on them. */
export type DiagnosticCode =
  | "syntax"
  | "limit"
  | "literal"
  | "undeclared_name"
  | "undeclared_field"
  | "undeclared_function"
  | "wrong_argument"
  | "wrong_operand"
  | "wrong_result"
  | "macro"
  | "pattern"
  | "unguarded"
  | "constant";

/** One finding with its place. Offsets are UTF-16 units; line and column start at 1. */
export interface Diagnostic {
  readonly severity: Severity;
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly start: number;
  readonly end: number;
  readonly line: number;
  /** In code points, as editors show it. */
  readonly column: number;
  /** Tokens that the parser would have accepted. Empty unless the code is `syntax`. */
  readonly expected: readonly string[];
  readonly help: string | null;
}

export interface Finding {
  readonly severity?: Severity;
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly start: number;
  readonly end: number;
  readonly expected?: readonly string[];
  readonly help?: string | null;
}

export function diagnostic(source: string, finding: Finding): Diagnostic {
  const start = Math.min(Math.max(finding.start, 0), source.length);
  const end = Math.min(Math.max(finding.end, start), source.length);
  let line = 1;
  let lineStart = 0;
  for (let i = 0; i < start; i++) {
    if (source.charCodeAt(i) === 10) {
      line++;
      lineStart = i + 1;
    }
  }
  return {
    severity: finding.severity ?? "error",
    code: finding.code,
    message: finding.message,
    start,
    end,
    line,
    column: codePoints(source, lineStart, start) + 1,
    expected: finding.expected ?? [],
    help: finding.help ?? null,
  };
}

/** Renders message, position, source line with caret, expected tokens and help. */
export function formatDiagnostic(source: string, d: Diagnostic): string {
  const lineStart = source.lastIndexOf("\n", d.start - 1) + 1;
  const newline = source.indexOf("\n", lineStart);
  const lineEnd = newline < 0 ? source.length : newline;
  // A line may have 16 KiB, so only a part is shown.
  const from = d.start - lineStart > 80 ? d.start - 60 : lineStart;
  const to = Math.min(lineEnd, Math.max(from + 100, Math.min(d.end, d.start + 40) + 20));
  const before = (from > lineStart ? "…" : "") + printable(source.slice(from, d.start));
  const marked = printable(source.slice(d.start, Math.min(d.end, to)));
  const after = printable(source.slice(Math.min(d.end, to), to)) + (to < lineEnd ? "…" : "");
  const gutter = " ".repeat(String(d.line).length);
  const caret = " ".repeat(codePoints(before)) + "^".repeat(Math.max(1, codePoints(marked)));
  const lines = [
    `${d.severity}: ${d.message}`,
    `${gutter}--> line ${d.line}, column ${d.column}`,
    `${gutter} |`,
    `${d.line} | ${before}${marked}${after}`,
    `${gutter} | ${caret}`,
  ];
  if (d.expected.length > 0) lines.push(`${gutter} = expected: ${d.expected.join(", ")}`);
  if (d.help !== null) lines.push(`${gutter} = help: ${d.help}`);
  return lines.join("\n");
}

/** The only error of `parse`. */
export class CelSyntaxError extends Error {
  override readonly name = "CelSyntaxError";
  readonly diagnostics: readonly Diagnostic[];

  constructor(source: string, diagnostics: readonly Diagnostic[]) {
    super(diagnostics.map((d) => formatDiagnostic(source, d)).join("\n\n"));
    this.diagnostics = diagnostics;
  }
}

/** Has every diagnostic, warnings included. */
export class CelCheckError extends Error {
  override readonly name = "CelCheckError";
  readonly diagnostics: readonly Diagnostic[];

  constructor(source: string, diagnostics: readonly Diagnostic[]) {
    super(diagnostics.map((d) => formatDiagnostic(source, d)).join("\n\n"));
    this.diagnostics = diagnostics;
  }
}

function codePoints(text: string, from = 0, to = text.length): number {
  let n = 0;
  for (let i = from; i < to; i++) {
    const c = text.charCodeAt(i);
    if (c < 0xdc00 || c > 0xdfff) n++;
  }
  return n;
}

/** Returns one column per code point, because control and bidi characters must not move the caret. */
function printable(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, (c) =>
    c === "\t" || c === "\r" ? " " : "\u00b7",
  );
}
