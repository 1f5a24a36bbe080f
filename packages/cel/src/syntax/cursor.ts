import type { Finding } from "../diagnostics.ts";
import { excerpt } from "../excerpt.ts";
import { type Expr, LIMITS } from "./ast.ts";
import type { Token } from "./tokens.ts";

/** Stops the parser. `parse` converts it to a `CelSyntaxError`. */
export class Stop extends Error {
  readonly finding: Finding;

  constructor(finding: Finding) {
    super(finding.message);
    this.finding = finding;
  }
}

type Unnumbered = Expr extends infer E ? (E extends Expr ? Omit<E, "id"> : never) : never;

export class Cursor {
  nodes = 0;
  protected readonly source: string;
  protected readonly tokens: readonly Token[];
  protected at = 0;
  protected depth = 0;

  constructor(source: string, tokens: readonly Token[]) {
    this.source = source;
    this.tokens = tokens;
  }

  node(expr: Unnumbered): Expr {
    if (this.nodes >= LIMITS.nodes) {
      this.stop({
        code: "limit",
        message: `the expression has more than ${LIMITS.nodes} parts`,
        start: expr.start,
        end: expr.end,
        help: "split it into variables",
      });
    }
    // Not copied, because copying took a tenth of the time to parse and compile.
    return Object.assign(expr, { id: this.nodes++ }) as Expr;
  }

  stop(finding: Finding): never {
    throw new Stop(finding);
  }

  protected peek(): Token {
    return this.tokens[this.at] as Token;
  }

  protected get end(): number {
    return (this.tokens[this.at - 1] as Token).end;
  }

  protected next(): Token {
    const token = this.peek();
    if (token.kind !== "end") this.at++;
    return token;
  }

  protected is(text: string): boolean {
    const t = this.peek();
    return t.kind === "punctuation" && t.text === text;
  }

  protected take(text: string): boolean {
    if (!this.is(text)) return false;
    this.at++;
    return true;
  }

  protected close(text: string, open: Token, also: readonly string[]): Token {
    if (!this.is(text)) {
      const t = this.peek();
      if (t.kind === "end")
        this.unexpected([`\`${text}\``, ...also], `the \`${open.text}\` at offset ${open.start + 1} is still open`);
      this.unexpected([`\`${text}\``, ...also]);
    }
    return this.next();
  }

  protected unexpected(expected: readonly string[], help: string | null = null): never {
    const before = this.tokens[this.at - 1];
    if (before?.kind === "name" && before.text === "not") {
      this.stop({
        code: "syntax",
        message: "unexpected `not`",
        start: before.start,
        end: before.end,
        expected: [],
        help: hint(before),
      });
    }
    const t = this.peek();
    const what = t.kind === "end" ? "end of expression" : `\`${excerpt(this.source.slice(t.start, t.end), 41)}\``;
    this.stop({
      code: "syntax",
      message: `unexpected ${what}`,
      start: t.start,
      end: t.end,
      expected,
      help: help ?? hint(t),
    });
  }

  protected enter(start: number): void {
    if (++this.depth > LIMITS.depth) {
      this.stop({
        code: "limit",
        message: `the expression is nested deeper than ${LIMITS.depth} levels`,
        start,
        end: start + 1,
        help: "split it into variables",
      });
    }
  }
}

function hint(t: Token): string | null {
  if (t.kind !== "name") return null;
  const advice: Record<string, string> = {
    and: "and is written `&&`",
    or: "or is written `||`",
    not: "not is written `!`",
    is: "equality is written `==`",
  };
  return Object.hasOwn(advice, t.text) ? (advice[t.text] ?? null) : null;
}
