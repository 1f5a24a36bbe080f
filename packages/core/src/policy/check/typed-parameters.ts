import { type Expr, parse } from "@countersign/cel";
import { type CatalogueEntry, foldName, type ParameterType } from "@countersign/contract";
import { accepts, folded } from "../action-index.ts";
import type { PolicyDocument } from "../document.ts";
import { expressionsOf, type PlacedExpression } from "../expressions.ts";
import { diagnose, type Located, type PolicyDiagnostic } from "../located.ts";
import { namesOf, nodesOf } from "../nodes-of.ts";
import { collectFindings } from "./findings.ts";

type Tool = Pick<CatalogueEntry, "verb" | "type" | "parameters">;

/** JSON kind of a literal; integers are "number". */
type Kind = Exclude<ParameterType, "integer">;

/** Warns about literals compared with a parameter of another type, because the comparison is then unknown. */
export function* typedParameterSteps(
  document: PolicyDocument,
  located: Located,
  catalogue: readonly Tool[],
): Generator<void, readonly PolicyDiagnostic[]> {
  const types = typesOf(document, catalogue);
  if (types.size === 0) return [];
  const aliases = aliasesOf(document);
  const findings = collectFindings();
  for (const expression of [...variablesOf(document), ...expressionsOf(document)]) {
    for (const { name, literal, kind } of comparisonsIn(expression.source, aliases)) {
      const typed = types.get(name)?.find((each) => kindOf(each.type) !== kind);
      if (typed === undefined) continue;
      const message = `The tool ${JSON.stringify(typed.verb)} gives ${name} the type ${typed.type}, so this comparison is unknown for it.`;
      const help = `Compare with a value of the type ${typed.type}, or change the tool's parameters in the action catalogue.`;
      const finding = { code: "wrong_type", message, help };
      findings.add(() => diagnose(located, expression.path, finding, expression.offset + literal.start));
    }
    yield;
  }
  return findings.list();
}

interface Typed {
  readonly type: ParameterType;
  readonly verb: string;
}

function typesOf({ spec }: PolicyDocument, catalogue: readonly Tool[]): ReadonlyMap<string, readonly Typed[]> {
  const match = folded(spec.match ?? {});
  const types = new Map<string, Typed[]>();
  for (const { verb, type: action, parameters = {} } of catalogue) {
    if (!accepts(match, "actions", action) || !accepts(match, "verbs", foldName(verb))) continue;
    for (const [name, type] of Object.entries(parameters)) {
      const known = types.get(name) ?? [];
      if (!known.some((each) => each.type === type)) types.set(name, [...known, { type, verb }]);
    }
  }
  return types;
}

/** Returns the variables that only rename a parameter. */
function aliasesOf({ spec }: PolicyDocument): ReadonlyMap<string, string> {
  const aliases = new Map<string, string>();
  for (const { name, expr } of spec.variables ?? []) {
    const parameter = parameterOf(parse(expr).root, aliases);
    if (parameter !== null) aliases.set(name, parameter);
  }
  return aliases;
}

function variablesOf({ spec }: PolicyDocument): Pick<PlacedExpression, "path" | "source" | "offset">[] {
  return (spec.variables ?? []).map(({ expr }, at) => ({
    path: `/spec/variables/${at}/expr`,
    source: expr,
    offset: 0,
  }));
}

interface Comparison {
  readonly name: string;
  readonly literal: Expr;
  readonly kind: Kind;
}

/** Yields comparisons in both directions. The source must parse. */
function* comparisonsIn(source: string, aliases: ReadonlyMap<string, string>): Generator<Comparison> {
  const comparison = (operand: Expr, literal: Expr): Comparison[] => {
    const name = parameterOf(operand, aliases);
    const kind = kindOfLiteral(literal);
    return name === null || kind === null ? [] : [{ name, literal, kind }];
  };
  for (const node of nodesOf(source)) {
    if (node.kind !== "binary") continue;
    const { op, left, right } = node;
    if (op === "==" || op === "!=") yield* [...comparison(left, right), ...comparison(right, left)];
    if (op === "in" && right.kind === "list")
      for (const { value } of right.elements) yield* [...comparison(left, value), ...comparison(value, left)];
  }
}

function parameterOf(node: Expr, aliases: ReadonlyMap<string, string>): string | null {
  const names = namesOf(node);
  if (names === null) return null;
  const name = names.at(-1) as string;
  const owner = names.slice(0, -1).join(".");
  if (owner === "vars") return aliases.get(name) ?? null;
  return owner === "params" || owner === "intent.payload.content" ? name : null;
}

function kindOf(type: ParameterType | undefined): Kind | undefined {
  return type === "integer" ? "number" : type;
}

/** Null if the literal has no JSON type. A comparison with null is always known. */
function kindOfLiteral(node: Expr): Kind | null {
  if (node.kind === "unary" && node.op === "-") return kindOfLiteral(node.operand) === "number" ? "number" : null;
  if (node.kind === "list") return "array";
  if (node.kind === "map") return "object";
  if (node.kind !== "literal") return null;
  const { value } = node;
  if (typeof value === "string" || typeof value === "boolean") return typeof value as "string" | "boolean";
  return typeof value === "number" || typeof value === "bigint" ? "number" : null;
}
