import type { Expr } from "@countersign/cel";
import { type CatalogueEntry, foldName, type ParameterType } from "@countersign/contract";
import { accepts, folded } from "../action-index.ts";
import type { PolicyDocument } from "../document.ts";
import { expressionsOf, type PlacedExpression } from "../expressions.ts";
import { diagnose, type Located, type PolicyDiagnostic } from "../located.ts";
import { namesOf, nodesOf } from "../nodes-of.ts";
import { collectFindings } from "./findings.ts";

/** A tool with recorded types of parameters. */
type Tool = Pick<CatalogueEntry, "verb" | "type" | "parameters">;

/** What a literal is, as the types of parameters name it; both kinds of number are "number". */
type Kind = Exclude<ParameterType, "integer">;

/**
 * Returns a warning for each literal with which a parameter is compared although a tool that the policy matches gives the parameter
 * another type: for that tool the comparison is unknown. Yields after each expression.
 */
export function* typedParameterSteps(
  document: PolicyDocument,
  located: Located,
  catalogue: readonly Tool[],
): Generator<void, readonly PolicyDiagnostic[]> {
  const match = folded(document.spec.match ?? {});
  const tools = catalogue.filter(
    ({ verb, type, parameters }) =>
      parameters !== undefined && accepts(match, "actions", type) && accepts(match, "verbs", foldName(verb)),
  );
  if (tools.length === 0) return [];
  const findings = collectFindings();
  for (const expression of [...variablesOf(document), ...expressionsOf(document)]) {
    for (const { name, literal, kind } of comparisonsIn(expression.source)) {
      const tool = tools.find(
        ({ parameters = {} }) => Object.hasOwn(parameters, name) && kindOf(parameters[name]) !== kind,
      );
      if (tool === undefined) continue;
      const message = `The tool ${JSON.stringify(tool.verb)} gives ${name} the type ${tool.parameters?.[name]}, so this comparison is unknown for it.`;
      const help = `Compare with a value of the type ${tool.parameters?.[name]}, or change the tool's parameters in the action catalogue.`;
      const finding = { code: "wrong_type", message, help };
      findings.add(() => diagnose(located, expression.path, finding, expression.offset + literal.start));
    }
    yield;
  }
  return findings.list();
}

function variablesOf({ spec }: PolicyDocument): Pick<PlacedExpression, "path" | "source" | "offset">[] {
  return (spec.variables ?? []).map(({ expr }, at) => ({
    path: `/spec/variables/${at}/expr`,
    source: expr,
    offset: 0,
  }));
}

/** A parameter that is compared with a literal. */
interface Comparison {
  readonly name: string;
  readonly literal: Expr;
  readonly kind: Kind;
}

/** The comparisons by `==`, `!=` and `in`, either way round. The source must parse. */
function* comparisonsIn(source: string): Generator<Comparison> {
  for (const node of nodesOf(source)) {
    if (node.kind !== "binary") continue;
    const { op, left, right } = node;
    if (op === "==" || op === "!=") yield* [...comparison(left, right), ...comparison(right, left)];
    if (op === "in" && right.kind === "list") for (const { value } of right.elements) yield* comparison(left, value);
  }
}

function comparison(operand: Expr, literal: Expr): Comparison[] {
  const names = namesOf(operand);
  const kind = kindOfLiteral(literal);
  if (names === null || kind === null) return [];
  const name = names.at(-1) as string;
  const owner = names.slice(0, -1).join(".");
  return owner === "params" || owner === "intent.payload.content" ? [{ name, literal, kind }] : [];
}

function kindOf(type: ParameterType | undefined): Kind | undefined {
  return type === "integer" ? "number" : type;
}

/** Null: the node is no literal, or one without a type in JSON. A comparison with null is always known. */
function kindOfLiteral(node: Expr): Kind | null {
  if (node.kind === "unary" && node.op === "-") return kindOfLiteral(node.operand) === "number" ? "number" : null;
  if (node.kind === "list") return "array";
  if (node.kind === "map") return "object";
  if (node.kind !== "literal") return null;
  const { value } = node;
  if (typeof value === "string" || typeof value === "boolean") return typeof value as "string" | "boolean";
  return typeof value === "number" || typeof value === "bigint" ? "number" : null;
}
