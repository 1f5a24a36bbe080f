import { CelSyntaxError, type Diagnostic, diagnostic } from "../diagnostics.ts";
import { type Ast, type BinaryOp, dottedName, type Expr, LIMITS } from "./ast.ts";
import { Cursor, Stop } from "./cursor.ts";
import { lex } from "./lexer.ts";
import { decodeInt, LiteralProblem } from "./literals.ts";
import { globalMacro, memberMacro } from "./macros.ts";
import { RESERVED, type Token } from "./tokens.ts";

/** Binding powers. `&&` and `||` become one node each; `?:` binds weakest. */
const POWER: ReadonlyMap<string, number> = new Map([
  ["||", 1],
  ["&&", 2],
  ...["==", "!=", "<", "<=", ">", ">=", "in"].map((op) => [op, 3] as const),
  ["+", 4],
  ["-", 4],
  ["*", 5],
  ["/", 5],
  ["%", 5],
]);

/** Refuses more than 16 KiB, 1,000 nodes or 64 levels. Throws only `CelSyntaxError`. */
export function parse(source: string): Ast {
  const refuse = (diagnostics: readonly Diagnostic[]) => new CelSyntaxError(source, diagnostics);
  if (tooLong(source)) {
    const message = `the expression is longer than ${LIMITS.source_bytes} bytes`;
    throw refuse([diagnostic(source, { code: "limit", message, start: 0, end: 0, help: "split it into variables" })]);
  }
  const { tokens, diagnostics } = lex(source);
  if (diagnostics.length > 0) throw refuse(diagnostics);
  const parser = new Parser(source, tokens);
  try {
    const root = parser.whole();
    return { source, root, nodes: parser.nodes };
  } catch (e) {
    if (e instanceof Stop) throw refuse([diagnostic(source, e.finding)]);
    throw e;
  }
}

function tooLong(source: string): boolean {
  if (source.length * 3 <= LIMITS.source_bytes) return false;
  return source.length > LIMITS.source_bytes || new TextEncoder().encode(source).length > LIMITS.source_bytes;
}

export class Parser extends Cursor {
  whole(): Expr {
    if (this.peek().kind === "end")
      this.stop({ code: "syntax", message: "the expression is empty", start: 0, end: 0, expected: ["an expression"] });
    const root = this.expression();
    if (this.peek().kind !== "end") this.unexpected(["an operator", "end of expression"]);
    return root;
  }

  expression(): Expr {
    const { start } = this.peek();
    this.enter(start);
    const test = this.binary(0);
    let result = test;
    if (this.take("?")) {
      const yes = this.binary(0);
      if (!this.take(":")) this.unexpected(["`:`", "an operator"], "a conditional is written `test ? yes : no`");
      const no = this.expression();
      result = this.node({ kind: "conditional", test, yes, no, start, end: this.end });
    }
    this.depth--;
    return result;
  }

  private binary(power: number): Expr {
    // A node's place spans first to last token, because operands omit the brackets around them.
    const { start } = this.peek();
    let left = this.unary();
    for (;;) {
      const op = this.peek();
      const own =
        op.kind === "punctuation" || (op.kind === "name" && op.text === "in") ? POWER.get(op.text) : undefined;
      if (own === undefined || own <= power) return left;
      if (op.text === "&&" || op.text === "||") {
        const args = [left];
        while (this.take(op.text)) args.push(this.binary(own));
        left = this.node({ kind: "logic", op: op.text, args, start, end: this.end });
        continue;
      }
      this.at++;
      const right = this.binary(own);
      left = this.node({
        kind: "binary",
        op: op.text as BinaryOp,
        opStart: op.start,
        left,
        right,
        start,
        end: this.end,
      });
    }
  }

  private unary(): Expr {
    const signs: Token[] = [];
    while (this.is("!") || this.is("-")) {
      const sign = this.next();
      // `-` belongs to the number: -9223372036854775808 is an int, but its positive is not.
      const number = this.peek();
      if (sign.text === "-" && number.kind === "literal" && (number.type === "int" || number.type === "double")) {
        this.at++;
        const operand = this.member(this.numeric(number, sign), sign.start);
        this.depth -= signs.length;
        return this.wrap(signs, operand);
      }
      signs.push(sign);
      this.enter(sign.start);
    }
    const { start } = this.peek();
    const operand = this.member(this.primary(), start);
    this.depth -= signs.length;
    return this.wrap(signs, operand);
  }

  private wrap(signs: readonly Token[], operand: Expr): Expr {
    let expr = operand;
    for (let i = signs.length - 1; i >= 0; i--) {
      const sign = signs[i] as Token;
      expr = this.node({ kind: "unary", op: sign.text as "!" | "-", operand: expr, start: sign.start, end: this.end });
    }
    return expr;
  }

  private numeric(token: Token, sign: Token | null): Expr {
    const start = sign?.start ?? token.start;
    if (token.type !== "int") {
      const value = sign === null ? token.value : -(token.value as number);
      return this.node({ kind: "literal", type: token.type ?? "null", value, start, end: token.end });
    }
    try {
      const value = decodeInt(token.text, sign !== null, start, token.end);
      return this.node({ kind: "literal", type: "int", value, start, end: token.end });
    } catch (e) {
      if (!(e instanceof LiteralProblem)) throw e;
      return this.stop({ code: "literal", message: e.message, start: e.at, end: e.until, help: e.help });
    }
  }

  private member(operand: Expr, start: number): Expr {
    let expr = operand;
    for (;;) {
      if (this.take(".")) {
        const optional = this.take("?");
        const name = this.peek();
        if (name.kind !== "quoted" && (name.kind !== "name" || name.text === "in")) {
          if (name.text !== "in" && (name.kind !== "literal" || !/^[a-z]/.test(name.text)))
            this.unexpected(["a field name"]);
          this.unexpected(["a field name"], `write \`["${name.text}"]\` for a field of this name`);
        }
        this.at++;
        const open = this.peek();
        if (!optional && name.kind === "name" && this.take("(")) {
          const args = this.list(open, ")");
          const end = args.close.end;
          expr =
            memberMacro(this, expr, name, args.items, { start, end }) ??
            this.node({
              kind: "call",
              name: name.text,
              nameStart: name.start,
              target: expr,
              args: args.items,
              start,
              end,
            });
          continue;
        }
        const quoted = name.kind === "quoted";
        expr = this.node({
          kind: "select",
          operand: expr,
          field: name.text,
          fieldStart: name.start,
          optional,
          quoted,
          start,
          end: name.end,
        });
        continue;
      }
      const open = this.peek();
      if (this.take("[")) {
        const optional = this.take("?");
        const index = this.expression();
        const end = this.close("]", open, ["an operator"]).end;
        expr = this.node({ kind: "index", operand: expr, index, optional, start, end });
        continue;
      }
      if (this.is("{")) {
        const name = dottedName(expr);
        if (name === null) this.unexpected(["an operator"]);
        expr = this.message(expr, name);
        continue;
      }
      return expr;
    }
  }

  private primary(): Expr {
    const t = this.peek();
    if (t.kind === "literal") {
      this.at++;
      if (t.type === "int") return this.numeric(t, null);
      return this.node({ kind: "literal", type: t.type ?? "null", value: t.value, start: t.start, end: t.end });
    }
    if (t.kind === "name" && t.text !== "in") return this.name(false);
    if (this.take("(")) {
      const inner = this.expression();
      this.close(")", t, ["an operator"]);
      return inner;
    }
    if (this.take(".")) {
      if (this.peek().kind !== "name" || this.peek().text === "in") this.unexpected(["a name"]);
      return this.name(true);
    }
    if (this.take("[")) return this.listLiteral(t);
    if (this.take("{")) return this.mapLiteral(t);
    return this.unexpected(["a value", "a name", "`(`", "`[`", "`{`", "`!`", "`-`"]);
  }

  private name(absolute: boolean): Expr {
    const t = this.next();
    const open = this.peek();
    if (this.take("(")) {
      const { items, close } = this.list(open, ")");
      return (
        (absolute ? null : globalMacro(this, t, items, close.end)) ??
        this.node({
          kind: "call",
          name: absolute ? `.${t.text}` : t.text,
          nameStart: t.start,
          target: null,
          args: items,
          start: t.start,
          end: close.end,
        })
      );
    }
    if (RESERVED.has(t.text)) {
      this.stop({
        code: "syntax",
        message: `\`${t.text}\` is a reserved word`,
        start: t.start,
        end: t.end,
        expected: ["a value", "a name"],
      });
    }
    return this.node({ kind: "ident", name: t.text, absolute, start: t.start, end: t.end });
  }

  private list(open: Token, closing: ")"): { items: Expr[]; close: Token } {
    const items: Expr[] = [];
    while (!this.is(closing)) {
      items.push(this.expression());
      if (!this.take(",")) break;
      if (this.is(closing)) this.unexpected(["a value"]);
    }
    return { items, close: this.close(closing, open, ["`,`", "an operator"]) };
  }

  private listLiteral(open: Token): Expr {
    const elements: { value: Expr; optional: boolean }[] = [];
    while (!this.is("]")) {
      const optional = this.take("?");
      elements.push({ value: this.expression(), optional });
      if (!this.take(",")) break;
    }
    const end = this.close("]", open, ["`,`", "an operator"]).end;
    return this.node({ kind: "list", elements, start: open.start, end });
  }

  private mapLiteral(open: Token): Expr {
    const entries: { key: Expr; value: Expr; optional: boolean }[] = [];
    while (!this.is("}")) {
      const optional = this.take("?");
      const key = this.expression();
      if (!this.take(":")) this.unexpected(["`:`", "an operator"], "a map is written {key: value}");
      entries.push({ key, value: this.expression(), optional });
      if (!this.take(",")) break;
    }
    const end = this.close("}", open, ["`,`", "an operator"]).end;
    return this.node({ kind: "map", entries, start: open.start, end });
  }

  private message(type: Expr, name: string): Expr {
    const open = this.next();
    const fields: { field: string; start: number; value: Expr }[] = [];
    while (!this.is("}")) {
      this.take("?");
      const field = this.peek();
      if (field.kind !== "name" && field.kind !== "quoted") this.unexpected(["a field name", "`}`"]);
      this.at++;
      if (!this.take(":")) this.unexpected(["`:`"], "a message is written Name{field: value}");
      fields.push({ field: field.text, start: field.start, value: this.expression() });
      if (!this.take(",")) break;
    }
    const end = this.close("}", open, ["`,`", "an operator"]).end;
    return this.node({ kind: "message", name, fields, start: type.start, end });
  }
}
