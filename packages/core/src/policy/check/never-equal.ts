import { type Expr, parse } from "@countersign/cel";
import {
  actionTypes,
  dataClasses,
  type FactCategory,
  factCategories,
  PipelineMode,
  Target,
  usStateCodes,
} from "@countersign/contract";
import type { MatchPatterns, PolicyDocument } from "../document.ts";
import { namesGiven, namesOf, partsOf } from "../nodes-of.ts";
import { misspelt, suggestName } from "./suggest-name.ts";

interface Oddity {
  readonly message: string;
  readonly help: string;
}

/** A text that can never equal the compared value, or only if agents misspell it too. */
export interface NeverEqual extends Oddity {
  /** Offset in UTF-16 units. */
  readonly start: number;
}

/** All possible texts, or examples of lower-case texts. */
type Texts = readonly string[] | { readonly lower_case_such_as: readonly string[] };

const anyType: Texts = { lower_case_such_as: Object.keys(actionTypes) };
const anyClass: Texts = { lower_case_such_as: Object.keys(dataClasses) };

interface Domain {
  readonly name: string;
  readonly texts: Texts;
  readonly of: "itself" | "entries";
}

type Scope = ReadonlyMap<string, Domain | null>;

const known = domains();

type Fits = (whole: string, text: string) => boolean;
const equal: Fits = (whole, text) => whole === text;
const searches: ReadonlyMap<string, Fits> = new Map<string, Fits>([
  ["startsWith", (whole, text) => whole.startsWith(text)],
  ["endsWith", (whole, text) => whole.endsWith(text)],
  ["contains", (whole, text) => whole.includes(text)],
]);

/** Finds literals that no action can equal, and likely misspellings of action words. The source must parse. */
export function neverEqual(source: string): NeverEqual[] {
  return [...within(parse(source).root, new Map())].sort((a, b) => a.start - b.start);
}

function* within(node: Expr, scope: Scope): Generator<NeverEqual> {
  if (node.kind === "binary") yield* compared(node, scope);
  if (node.kind === "call") yield* searched(node, scope);
  const names = namesGiven(node);
  const named = namedBy(node);
  const domain = named === null ? null : givenDomain(node, domainOf(named, scope));
  // The last name is the value; an earlier one is the index.
  const inner =
    named === null
      ? scope
      : new Map([...scope, ...names.map((name) => [name, name === names.at(-1) ? domain : null] as const)]);
  for (const part of partsOf(node)) yield* within(part, part === named ? scope : inner);
}

/** Returns the named value in `range.exists(name, …)` and `cel.bind(name, value, …)`. */
function namedBy(node: Expr): Expr | null {
  if (node.kind === "fold") return node.range;
  if (node.kind === "bind") return node.value;
  return node.kind === "optional_map" ? node.target : null;
}

function givenDomain(node: Expr, domain: Domain | null): Domain | null {
  if (node.kind === "bind") return domain;
  return node.kind === "fold" && domain?.of === "entries" ? { ...domain, of: "itself" } : null;
}

/** Handles comparisons in both directions. */
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

/** Handles calls such as `action.type.startsWith("…")`. */
function* searched({ name, target, args: [arg] }: Expr & { kind: "call" }, scope: Scope): Generator<NeverEqual> {
  const fits = searches.get(name);
  if (fits === undefined || target === null || arg === undefined) return;
  yield* unlike(arg, domainOf(target, scope), "itself", fits);
}

export function* misspeltPatterns({ match }: PolicyDocument["spec"]): Generator<Oddity & { readonly path: string }> {
  const lists: readonly (readonly [string, MatchPatterns | undefined])[] = [
    ["/spec/match", match],
    ["/spec/match/exclude", match?.exclude],
  ];
  for (const [path, patterns] of lists)
    for (const [index, pattern] of (patterns?.actions ?? []).entries()) {
      const odd = oddSpelling(pattern, "action.type", anyType);
      if (odd !== null) yield { path: `${path}/actions/${index}`, ...odd };
    }
}

function* unlike(node: Expr, domain: Domain | null, of: Domain["of"], fits: Fits = equal): Generator<NeverEqual> {
  if (domain?.of !== of || node.kind !== "literal" || typeof node.value !== "string") return;
  const { name, texts } = domain;
  const text = node.value;
  const isMet = isOpen(texts) ? text === text.toLowerCase() : texts.some((whole) => fits(whole, text));
  const odd = isMet
    ? fits === equal
      ? oddSpelling(text, name, texts)
      : null
    : { message: `No ${name} is like this text.`, help: helpFor(text, texts) };
  if (odd !== null) yield { start: node.start, ...odd };
}

function isOpen(texts: Texts): texts is Exclude<Texts, readonly string[]> {
  return "lower_case_such_as" in texts;
}

function oddSpelling(text: string, name: string, texts: Texts): Oddity | null {
  const meant = isOpen(texts) ? misspelt(text, texts.lower_case_such_as) : null;
  if (meant === null) return null;
  return {
    message: `${JSON.stringify(text)} is allowed as ${name}, but it is not ${JSON.stringify(meant)}.`,
    help: `Did you mean ${meant}? Agents and released rules use that.`,
  };
}

function helpFor(text: string, texts: Texts): string {
  const lower = text.toLowerCase();
  if (isOpen(texts)) return `It is compared in lower case: write ${JSON.stringify(lower)}.`;
  const meant = texts.find((each) => each.toLowerCase() === lower.trim());
  if (meant !== undefined) return `Write ${JSON.stringify(meant)}.`;
  if (texts === usStateCodes) return "It is the two letters of a state, such as CA.";
  return suggestName(text, texts) ?? `It is ${texts.slice(0, -1).join(", ")} or ${texts.at(-1)}.`;
}

function domainOf(node: Expr, scope: Scope): Domain | null {
  if (node.kind === "ident" && scope.has(node.name)) return scope.get(node.name) ?? null;
  const names = namesOf(node);
  const [first] = names ?? [];
  return names === null || first === undefined || scope.has(first) ? null : (known.get(names.join(".")) ?? null);
}

/** `intent.action.type` is as submitted, so it may be any text. */
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
    itself("action.type", anyType),
    ["data_classes", { name: "data class", texts: anyClass, of: "entries" }],
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
