import { type Expr, parse } from "@countersign/cel";
import type { Match } from "../policy/action-index.ts";
import type { PolicyDocument } from "../policy/document.ts";
import { expressionsIn } from "../policy/expressions-in.ts";
import { namesOf, nodesOf, partsOf } from "../policy/nodes-of.ts";
import type { PartPlace } from "./skeleton.ts";

export type NameKind = "verb" | "agent" | "target";

export interface NamePart {
  readonly text: string;
  readonly place: PartPlace;
}

export interface NameSource {
  /** Compared as `foldName` returns them. */
  readonly names: readonly string[];
  /** Also compared folded. */
  readonly prefixes: readonly string[];
  /** Compared as written, because expressions do not fold names. */
  readonly literals: readonly string[];
  readonly parts: readonly NamePart[];
}

export type PolicyNames = Readonly<Record<NameKind, NameSource>>;

const none: readonly never[] = Object.freeze([]);
const noSource: NameSource = Object.freeze({ names: none, prefixes: none, literals: none, parts: none });
const noNames: PolicyNames = Object.freeze({ verb: noSource, agent: noSource, target: noSource });

/** Returns the names in `match`, and in expressions that read a name. Expressions must parse. */
export function policyNames(document: PolicyDocument): PolicyNames {
  const { match } = document.spec;
  const risk = document.spec.risk?.add;
  const sources = [...expressionsIn(document), ...(typeof risk === "string" ? [risk] : [])];
  const { kinds, literals, parts } = textsIn(
    sources.filter((source) => /action|agent|intent|target/.test(source)),
    sources,
  );
  if (match === undefined && kinds.size === 0) return noNames;
  const matched = matchNames(match);
  const withTexts = (kind: NameKind): NameSource =>
    kinds.has(kind) ? { ...matched[kind], literals, parts } : matched[kind];
  return { verb: withTexts("verb"), agent: withTexts("agent"), target: withTexts("target") };
}

/** Returns the names in the patterns of a `match`. */
export function matchNames({ verbs = none, agents = none, exclude }: Match = {}): PolicyNames {
  return {
    verb: patternNames([...verbs, ...(exclude?.verbs ?? none)]),
    agent: patternNames([...agents, ...(exclude?.agents ?? none)]),
    target: noSource,
  };
}

function patternNames(patterns: readonly string[]): NameSource {
  if (patterns.length === 0) return noSource;
  return {
    ...noSource,
    names: patterns.filter((pattern) => !pattern.endsWith("*")),
    prefixes: patterns.flatMap((pattern) =>
      pattern.length > 1 && pattern.endsWith("*") ? [pattern.slice(0, -1)] : [],
    ),
  };
}

const partPlaces: ReadonlyMap<string, PartPlace> = new Map([
  ["startsWith", "start"],
  ["endsWith", "end"],
  ["contains", "anywhere"],
]);

/** Each text counts for each kind that `reading` may read, because a variable may pass it to a comparison. */
function textsIn(reading: readonly string[], sources: readonly string[]) {
  const kinds = new Set(reading.flatMap((source) => [...kindsRead(parse(source).root)]));
  const literals: string[] = [];
  const parts: NamePart[] = [];
  if (kinds.size === 0) return { kinds, literals, parts };
  for (const source of sources) {
    /** Literals that are parts or patterns, not whole names. */
    const within = new Set<Expr>();
    const nodes = [...nodesOf(source)];
    for (const node of nodes) {
      const [text] = node.kind === "call" ? node.args : [];
      if (node.kind !== "call" || text?.kind !== "literal" || typeof text.value !== "string") continue;
      const place = partPlaces.get(node.name);
      if (place !== undefined) parts.push({ text: text.value, place });
      if (place !== undefined || node.name === "matches") within.add(text);
    }
    for (const node of nodes)
      if (node.kind === "literal" && typeof node.value === "string" && !within.has(node)) literals.push(node.value);
  }
  return { kinds, literals, parts };
}

function* kindsRead(root: Expr): Generator<NameKind> {
  const queue = [root];
  for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
    const path = namesOf(node)?.join(".");
    if (path === undefined) queue.push(...partsOf(node));
    else for (const kind of ["verb", "agent", "target"] as const) if (paths[kind].test(path)) yield kind;
  }
}

const paths: Readonly<Record<NameKind, RegExp>> = {
  verb: /^(intent|(intent\.)?action(\.verb)?)$/,
  agent: /^(intent|(intent\.)?agent(\.id)?)$/,
  target: /^(intent|(intent\.)?action|((intent\.)?action\.)?target(\..*)?)$/,
};
