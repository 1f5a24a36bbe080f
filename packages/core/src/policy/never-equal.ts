import { type Expr, parse } from "@countersign/cel";
import { type FactCategory, factCategories, PipelineMode, Target, usStateCodes } from "@countersign/contract";
import { suggestName } from "./suggest-name.ts";

/** A text in an expression that what it is compared with never is, whatever the action. */
export interface NeverEqual {
  /** UTF-16 units before the text in the source. */
  readonly start: number;
  readonly message: string;
  readonly help: string;
}

/** Which texts something can be: these, or any in lower case. */
type Texts = readonly string[] | "lower_case";

/** What something is, or its entries are. */
interface Domain {
  readonly name: string;
  readonly texts: Texts;
  readonly of: "itself" | "entries";
}

type Scope = ReadonlyMap<string, Domain | null>;

const known = domains();

/** Whether a text fits what it is compared with. */
type Fits = (whole: string, text: string) => boolean;
const equal: Fits = (whole, text) => whole === text;
const searches: ReadonlyMap<string, Fits> = new Map<string, Fits>([
  ["startsWith", (whole, text) => whole.startsWith(text)],
  ["endsWith", (whole, text) => whole.endsWith(text)],
  ["contains", (whole, text) => whole.includes(text)],
]);

/**
 * The literal texts of comparisons that no action can meet, since what they are compared with is one of a few, or in lower
 * case: a rule that waits for one of them never fires, or always. The source must parse.
 */
export function neverEqual(source: string): NeverEqual[] {
  return [...within(parse(source).root, new Map())].sort((a, b) => a.start - b.start);
}

function* within(node: Expr, scope: Scope): Generator<NeverEqual> {
  if (node.kind === "binary") yield* compared(node, scope);
  if (node.kind === "call") yield* searched(node, scope);
  if (node.kind === "fold") {
    const range = domainOf(node.range, scope);
    const entry: Domain | null = range?.of === "entries" ? { ...range, of: "itself" } : null;
    const names = node.names.map((name, index) => [name, index === node.names.length - 1 ? entry : null] as const);
    yield* within(node.range, scope);
    const inner = new Map([...scope, ...names]);
    for (const part of [node.filter, node.body]) if (part !== null) yield* within(part, inner);
    return;
  }
  if (node.kind === "bind") {
    yield* within(node.value, scope);
    yield* within(node.body, new Map([...scope, [node.name, domainOf(node.value, scope)]]));
    return;
  }
  if (node.kind === "optional_map") {
    yield* within(node.target, scope);
    yield* within(node.body, new Map([...scope, [node.name, null]]));
    return;
  }
  for (const part of partsOf(node)) yield* within(part, scope);
}

/** The nodes right below one. */
function* partsOf(node: unknown): Generator<Expr> {
  for (const value of Array.isArray(node) ? node : Object.values(node as object)) {
    if (typeof value !== "object" || value === null || value instanceof Uint8Array) continue;
    if ("kind" in value) yield value as Expr;
    else yield* partsOf(value);
  }
}

/** `==`, `!=` and `in`, either way round. */
function* compared({ op, left, right }: Expr & { kind: "binary" }, scope: Scope): Generator<NeverEqual> {
  if (op === "==" || op === "!=") {
    yield* unlike(left, domainOf(right, scope), "itself");
    yield* unlike(right, domainOf(left, scope), "itself");
  }
  if (op !== "in") return;
  yield* unlike(left, domainOf(right, scope), "entries");
  if (right.kind !== "list") return;
  const domain = domainOf(left, scope);
  for (const { value } of right.elements) yield* unlike(value, domain, "itself");
}

/** `action.type.startsWith("…")` and the like. */
function* searched({ name, target, args: [arg] }: Expr & { kind: "call" }, scope: Scope): Generator<NeverEqual> {
  const fits = searches.get(name);
  if (fits === undefined || target === null || arg === undefined) return;
  yield* unlike(arg, domainOf(target, scope), "itself", fits);
}

function* unlike(node: Expr, domain: Domain | null, of: Domain["of"], fits: Fits = equal): Generator<NeverEqual> {
  if (domain?.of !== of || node.kind !== "literal" || typeof node.value !== "string") return;
  const { name, texts } = domain;
  const text = node.value;
  const isMet = texts === "lower_case" ? text === text.toLowerCase() : texts.some((whole) => fits(whole, text));
  if (!isMet) yield { start: node.start, message: `No ${name} is like this text.`, help: helpFor(text, texts) };
}

function helpFor(text: string, texts: Texts): string {
  const lower = text.toLowerCase();
  if (texts === "lower_case") return `It is compared in lower case: write ${JSON.stringify(lower)}.`;
  const meant = texts.find((each) => each.toLowerCase() === lower.trim());
  if (meant !== undefined) return `Write ${JSON.stringify(meant)}.`;
  if (texts === usStateCodes) return "It is the two letters of a state, such as CA.";
  return suggestName(text, texts) ?? `It is ${texts.slice(0, -1).join(", ")} or ${texts.at(-1)}.`;
}

function domainOf(node: Expr, scope: Scope): Domain | null {
  if (node.kind === "ident" && scope.has(node.name)) return scope.get(node.name) ?? null;
  const path = pathOf(node, scope);
  return path === null ? null : (known.get(path) ?? null);
}

/** `a.b["c"]` as `a.b.c`; null: something else, or something of a name that the expression gave. */
function pathOf(node: Expr, scope: Scope): string | null {
  if (node.kind === "ident") return scope.has(node.name) ? null : node.name;
  const below = (operand: Expr, name: string): string | null => {
    const before = pathOf(operand, scope);
    return before === null ? null : `${before}.${name}`;
  };
  if (node.kind === "select") return below(node.operand, node.field);
  const isNamed = node.kind === "index" && node.index.kind === "literal" && typeof node.index.value === "string";
  return isNamed ? below(node.operand, String((node.index as Expr & { kind: "literal" }).value)) : null;
}

/** What the contract says of what expressions read, by path. `intent.action.type` is as it was submitted: any. */
function domains(): ReadonlyMap<string, Domain> {
  const itself = (path: string, texts: Texts) => [path, { name: path, texts, of: "itself" }] as const;
  const sensitivities = valuesOf(Target.properties.sensitivity);
  const listed = Object.values<FactCategory>(factCategories).flatMap((category) =>
    category.fields.flatMap(({ name, constraint }) => {
      const path = `facts.${category.name}.${name}`;
      if (constraint?.kind === "us_state") return [itself(path, usStateCodes)];
      return constraint?.kind === "one_of" ? [itself(path, constraint.values)] : [];
    }),
  );
  return new Map<string, Domain>([
    itself("action.type", "lower_case"),
    ["data_classes", { name: "data class", texts: "lower_case", of: "entries" }],
    itself("mode", valuesOf(PipelineMode)),
    itself("target.sensitivity", sensitivities),
    itself("action.target.sensitivity", sensitivities),
    itself("intent.action.target.sensitivity", sensitivities),
    ...listed,
  ]);
}

function valuesOf(schema: object): readonly string[] {
  return (schema as { enum: readonly string[] }).enum;
}
