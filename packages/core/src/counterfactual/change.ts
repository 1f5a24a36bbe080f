import { type ApprovalChange, type Assurance, assuranceRank } from "@countersign/contract";
import { attested_claim } from "../deciding/classify.ts";
import type { Content, DecideInput } from "../deciding/decision.ts";
import { assuranceOf, type FactOrigin, type MergedFacts, originOf } from "../facts/merge.ts";
import { type FactPath, factPath } from "../policy/fact-paths.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { nothing, valueAt } from "../values/json-patch.ts";

export type ChangePlace =
  | { readonly kind: "param"; readonly path: string; readonly names: readonly string[] }
  | { readonly kind: "fact"; readonly path: string; readonly names: readonly string[]; readonly fact: FactPath };

/** Among sets of equal size, lower total `rank` comes first. */
export interface PlacedChange {
  readonly place: ChangePlace;
  readonly change: ApprovalChange;
  readonly rank: number;
  /** Canonical JSON for comparing and sorting. */
  readonly text: string;
}

export function placedChange(place: ChangePlace, change: ApprovalChange, rank: number): PlacedChange {
  return { place, change, rank, text: canonicalJson(change) };
}

export function textOf(changes: readonly PlacedChange[]): string {
  return changes.map(({ text }) => text).join(",");
}

const names_max = 4;

/** Returns null for a place that may not change, such as a claim that an agent may not make. */
export function placeOf(names: readonly string[]): ChangePlace | null {
  if (names.length > names_max || names.some((name) => !/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name))) return null;
  if (names.includes("__proto__")) return null;
  const path = names.join(".");
  const [root, ...rest] = names;
  if (root === "params" && rest.length > 0 && rest[0] !== attested_claim) return { kind: "param", path, names: rest };
  if (root !== "facts" || rest.length !== 2) return null;
  const fact = factPath(rest.join("."));
  return fact === null ? null : { kind: "fact", path, names: rest, fact };
}

/** Null is a value. */
export function standsAt(place: ChangePlace, content: Content | null, facts: MergedFacts): unknown {
  const found =
    place.kind === "param"
      ? valueAt(content, place.names)
      : valueAt(facts[place.fact.category]?.values, [place.fact.field]);
  return found === nothing ? undefined : found;
}

/** Applies changes; facts are as of now, with at least this assurance. Null if a parent of a place is not an object. */
export function applyChanges(
  input: DecideInput,
  changes: readonly PlacedChange[],
  assurance: Assurance,
): DecideInput | null {
  let { intent, facts } = input;
  for (const { place, change } of changes) {
    if (place.kind === "fact") {
      facts = withFact(facts, place.fact, change.value, originNow(facts, place.fact, input.now_us, assurance));
      continue;
    }
    const content = withParam(intent.payload?.content ?? {}, place.names, change);
    if (content === null) return null;
    intent = { ...intent, payload: { ...intent.payload, content } };
  }
  return { ...input, intent, facts };
}

/** Counts copied members: all of each object on the path to a changed parameter. */
export function copiedFor({ intent }: DecideInput, changes: readonly PlacedChange[]): number {
  let count = 0;
  for (const { place } of changes) {
    if (place.kind === "fact") continue;
    let at: unknown = intent.payload?.content;
    for (const name of place.names) {
      if (typeof at !== "object" || at === null) break;
      count += Object.keys(at).length;
      at = valueAt(at, [name]);
    }
  }
  return count;
}

function originNow(facts: MergedFacts, { category, field }: FactPath, as_of_us: number, least: Assurance): FactOrigin {
  const origin = originOf(facts, category, field);
  const now = origin === null ? least : assuranceOf(origin);
  return { source: "inline", as_of_us, assurance: assuranceRank[now] > assuranceRank[least] ? now : least };
}

function withFact(facts: MergedFacts, { category, field }: FactPath, value: unknown, origin: FactOrigin): MergedFacts {
  const found = facts[category];
  if (found === undefined) return { ...facts, [category]: { values: { [field]: value }, origin, origins: null } };
  const values = { ...found.values, [field]: value };
  return { ...facts, [category]: { ...found, values, origins: { ...found.origins, [field]: origin } } };
}

function withParam(content: Content, [name, ...rest]: readonly string[], change: ApprovalChange): Content | null {
  if (name === undefined) return null;
  if (rest.length === 0) {
    if (change.op !== "absent") return { ...content, [name]: change.value };
    const { [name]: _, ...others } = content;
    return others;
  }
  const below = Object.hasOwn(content, name) ? content[name] : undefined;
  if (below !== undefined && below !== null && (typeof below !== "object" || Array.isArray(below))) return null;
  const changed = withParam((below ?? {}) as Content, rest, change);
  return changed === null ? null : { ...content, [name]: changed };
}
