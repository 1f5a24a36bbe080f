/** How much a diagnostic matters: only an `error` keeps an expression from compiling. */
export type Severity = "error" | "warning" | "hint";

/** The closed list of what can be wrong with an expression; stable, so that tools may key on it. */
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

/** One finding about an expression, placed in its source. Offsets are UTF-16 units; line and column start at 1. */
export interface Diagnostic {
  readonly severity: Severity;
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly start: number;
  readonly end: number;
  readonly line: number;
  /** Counted in code points, so that it matches what an editor shows. */
  readonly column: number;
  /** What the parser would have taken instead; empty unless the code is `syntax`. */
  readonly expected: readonly string[];
  readonly help: string | null;
}

/** What a diagnostic needs besides its place. */
export interface Finding {
  readonly severity?: Severity;
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly start: number;
  readonly end: number;
  readonly expected?: readonly string[];
  readonly help?: string | null;
}

/** Places a finding in its source. */
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

/**
 * Renders a diagnostic as text: message, line and column, the source line with a caret, what was expected and a help line.
 */
export function formatDiagnostic(source: string, d: Diagnostic): string {
  const lineStart = source.lastIndexOf("\n", d.start - 1) + 1;
  const newline = source.indexOf("\n", lineStart);
  const lineEnd = newline < 0 ? source.length : newline;
  // A line may be 16 KiB long: show a window around the caret.
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

/** The only thing `parse` throws: the source is not a CEL expression, or is larger than the limits. */
export class CelSyntaxError extends Error {
  override readonly name = "CelSyntaxError";
  readonly diagnostics: readonly Diagnostic[];

  constructor(source: string, diagnostics: readonly Diagnostic[]) {
    super(diagnostics.map((d) => formatDiagnostic(source, d)).join("\n\n"));
    this.diagnostics = diagnostics;
  }
}

/** Thrown by `compile` when the checker found at least one error; carries every diagnostic, warnings included. */
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

/** One visible column per code point: tabs, control and bidi characters must not move the caret. */
function printable(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, (c) =>
    c === "\t" || c === "\r" ? " " : "\u00b7",
  );
}
