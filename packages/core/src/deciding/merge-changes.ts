import { hiddenTexts, limits } from "@countersign/contract";
import type { Change } from "../policy/compile.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import {
  applyTo,
  isIndex,
  nothing,
  openDraft,
  type PatchOperation,
  pointerNames,
  pointerToken,
  valueAt,
} from "../values/json-patch.ts";
import { isJsonLarger, jsonRoom } from "../values/json-value.ts";
import { isStarred, placesOf } from "../values/place-pattern.ts";
import { holdsAnyText, redacted_text } from "../values/redacted-texts.ts";
import type { Content } from "./decision.ts";

interface AttributedOperation extends PatchOperation {
  readonly policy_id: string | null;
}

export interface Conflict {
  readonly path: string;
  readonly message: string;
  readonly policies: readonly string[];
}

export type MergedChanges =
  | {
      readonly kind: "merged";
      readonly operations: readonly AttributedOperation[];
      readonly content: Content;
    }
  | { readonly kind: "conflict"; readonly conflicts: readonly Conflict[] };

interface PlacedChange extends Change {
  readonly names: readonly string[];
  /** Normalized JSON Pointer. */
  readonly place: string;
  /** The places that contain this place, outermost first. */
  readonly above: readonly string[];
}

function placedChange(change: Change): PlacedChange {
  const names = pointerNames(change.path);
  const above: string[] = [];
  let place = "";
  for (const name of names) {
    above.push(place);
    place += `/${pointerToken(name)}`;
  }
  return { ...change, names, place, above };
}

/** Expands a path with wildcards. Only redactions may have them. */
function placedChanges(content: Content, change: Change): PlacedChange[] {
  if (change.value !== undefined || !isStarred(change.path)) return [placedChange(change)];
  return placesOf(content, change.path).map((path) => placedChange({ ...change, path }));
}

/**
 * Merges the changes of all policies into one RFC 6902 patch. The order of `changes` does not matter. `remove` wins
 * over `redact`, and both win over other changes at or below their place. The lowest cap and the highest floor count. A
 * change that already holds produces no operation.
 *
 * `remove` and `redact` never conflict. These are conflicts:
 * - two values for one place, or one place inside another
 * - a cap below a floor, or a bound on a non-number
 * - a value that holds a text redacted by `changes` or `more_redactions` (the latter are not part of the patch)
 * - content larger than a request body
 */
export function mergeChanges(
  content: Content,
  changes: readonly Change[],
  more_redactions: readonly Change[] = [],
): MergedChanges {
  const placed = changes.flatMap((change) => placedChanges(content, change));
  const { redactions, writes } = splitChanges(placed.sort(byPlace));
  const leaks = leaksOf(content, writes, [...redactions, ...more_redactions]);
  const { settled, conflicts } = settleWrites(content, writes);
  if (leaks.length > 0 || conflicts.length > 0) return { kind: "conflict", conflicts: [...leaks, ...conflicts] };
  return patchOf(content, settled, redactions);
}

export function redactContent(
  content: Content,
  redactions: readonly Change[],
): { readonly content: Content; readonly operations: readonly AttributedOperation[] } {
  const merged = mergeChanges(content, redactions);
  if (merged.kind === "conflict") throw new Error("redactions never conflict");
  return { content: merged.content, operations: merged.operations };
}

export const holds_redacted = "the value contains a text that another rule hides";

/** Returns effective redactions, and writes outside them. */
function splitChanges(changes: readonly PlacedChange[]): {
  readonly redactions: readonly PlacedChange[];
  readonly writes: readonly PlacedChange[];
} {
  /** The first `remove` of each place, else its first `redact`. */
  const winners = new Map<string, PlacedChange>();
  for (const change of changes) {
    if (change.op !== "remove" && change.op !== "redact") continue;
    const known = winners.get(change.place);
    if (known === undefined || (known.op !== "remove" && change.op === "remove")) winners.set(change.place, change);
  }
  const isCovered = ({ above }: PlacedChange): boolean => above.some((place) => winners.has(place));
  return {
    redactions: changes.filter((change) => winners.get(change.place) === change && !isCovered(change)),
    writes: changes.filter((change) => !winners.has(change.place) && !isCovered(change)),
  };
}

function leaksOf(content: Content, writes: readonly PlacedChange[], redactions: readonly Change[]): Conflict[] {
  if (redactions.length === 0 || writes.length === 0) return [];
  const texts = hiddenTexts(content, redactContent(content, redactions).content);
  return writes
    .filter(({ value }) => holdsAnyText(value, texts))
    .map((change) => conflict(change.path, holds_redacted, [change]));
}

interface Write {
  readonly change: PlacedChange;
  readonly value: unknown;
}

function settleWrites(
  content: Content,
  writes: readonly PlacedChange[],
): { readonly settled: readonly Write[]; readonly conflicts: readonly Conflict[] } {
  const settled: Write[] = [];
  const conflicts: Conflict[] = [];
  const groups = groupByPlace(writes);
  for (const group of groups.values()) {
    const [first] = group as readonly [PlacedChange];
    const outer = first.above.flatMap((place) => groups.get(place) ?? []);
    const [around] = outer;
    if (around !== undefined) {
      conflicts.push(conflict(first.path, `${first.path} lies inside ${around.path}`, [...group, ...outer]));
      continue;
    }
    const outcome = settle(content, first, group);
    if ("policies" in outcome) conflicts.push(outcome);
    else if (outcome.write !== null) settled.push(outcome.write);
  }
  return { settled, conflicts };
}

/** Builds the patch: writes first, then redactions. */
function patchOf(content: Content, writes: readonly Write[], redactions: readonly PlacedChange[]): MergedChanges {
  const operations: AttributedOperation[] = [];
  const conflicts: Conflict[] = [];
  const draft = openDraft(content);
  const perform = (change: PlacedChange, steps: readonly PatchOperation[]): void => {
    for (const operation of steps) {
      const message = applyTo(draft, operation);
      if (message !== null) {
        conflicts.push(conflict(change.path, message, [change]));
        return;
      }
      operations.push({ ...operation, policy_id: change.policy_id });
    }
  };
  // Stop before copying a value that does not fit.
  let room: number = limits.body_bytes_max;
  for (const { change, value } of writes) {
    room = jsonRoom(value, room);
    if (room < 0) break;
    perform(change, writeOperations(draft.document, change, value));
  }
  const is_little = limits.body_bytes_max - room <= small_bytes_max;
  if (room < 0 || (!is_little && isJsonLarger(draft.document, limits.body_bytes_max))) conflicts.push(tooLarge(writes));
  // In reverse, because removing a list entry shifts the later ones.
  for (const redaction of [...redactions].reverse()) perform(redaction, redactOperations(draft.document, redaction));
  return conflicts.length > 0
    ? { kind: "conflict", conflicts }
    : { kind: "merged", operations, content: draft.document as Content };
}

/** Total size of writes below which the content's size is not checked. */
const small_bytes_max = 256;

/**
 * Determines the value of one place. Returns no write if the content meets all bounds. `first` is the first change of
 * the group.
 */
function settle(
  content: Content,
  first: PlacedChange,
  group: readonly PlacedChange[],
): Conflict | { readonly write: Write | null } {
  const conflicting = (message: string, changes: readonly PlacedChange[]): Conflict =>
    conflict(first.path, message, changes);
  const sets = group.filter(({ op }) => op === "set");
  const bounds = group.filter(({ op }) => op !== "set");
  const [set] = sets;
  if (sets.some(({ value }) => value !== set?.value && canonicalJson(value) !== canonicalJson(set?.value)))
    return conflicting("two rules set different values", sets);
  if (bounds.some(({ value }) => typeof value !== "number")) return conflicting("a bound is not a number", group);
  const cap = tightest(bounds, "cap");
  const floor = tightest(bounds, "floor");
  const low = (floor?.value ?? -Infinity) as number;
  const high = (cap?.value ?? Infinity) as number;
  if (low > high) return conflicting("the floor lies above the cap", group);
  const as_set = { write: set === undefined ? null : { change: set, value: set.value } };
  if (bounds.length === 0) return as_set;
  const value = set === undefined ? valueAt(content, first.names) : set.value;
  if (typeof value !== "number") return conflicting("only a number can be bounded", group);
  const bound = value > high ? cap : value < low ? floor : undefined;
  if (bound === undefined) return as_set;
  if (set !== undefined) return conflicting("one rule sets a value that another does not allow", group);
  return { write: { change: bound, value: bound.value } };
}

/** Returns the lowest cap or highest floor; among equal ones the first. */
function tightest(bounds: readonly PlacedChange[], op: "cap" | "floor"): PlacedChange | undefined {
  let best: PlacedChange | undefined;
  for (const bound of bounds) {
    if (bound.op !== op) continue;
    const [value, best_value] = [bound.value as number, best?.value as number];
    if (best === undefined || (op === "cap" ? value < best_value : value > best_value)) best = bound;
  }
  return best;
}

/** Returns the operations of a write, with missing parent objects. Empty if the value is already there. */
function writeOperations(content: unknown, change: PlacedChange, value: unknown): PatchOperation[] {
  const current = valueAt(content, change.names);
  if (current !== nothing) {
    return canonicalJson(current) === canonicalJson(value) ? [] : [{ op: "replace", path: change.path, value }];
  }
  const tokens = change.path.split("/");
  const operations: PatchOperation[] = [];
  for (let depth = 1; depth < change.names.length; depth += 1) {
    if (valueAt(content, change.names.slice(0, depth)) === nothing)
      operations.push({ op: "add", path: tokens.slice(0, depth + 1).join("/"), value: {} });
  }
  return [...operations, { op: "add", path: change.path, value }];
}

function redactOperations(content: unknown, change: PlacedChange): PatchOperation[] {
  const current = valueAt(content, change.names);
  if (current === nothing || (change.op === "redact" && current === redacted_text)) return [];
  return [
    change.op === "remove"
      ? { op: "remove", path: change.path }
      : { op: "replace", path: change.path, value: redacted_text },
  ];
}

function conflict(path: string, message: string, changes: readonly PlacedChange[]): Conflict {
  return { path, message, policies: [...new Set(changes.map((change) => change.policy))].sort() };
}

/** Names the policies with large values, or else all writing policies. */
function tooLarge(writes: readonly Write[]): Conflict {
  const large = writes.filter(({ value }) => isJsonLarger(value, small_bytes_max));
  const changes = (large.length > 0 ? large : writes).map(({ change }) => change);
  return conflict(changes[0]?.path ?? "", `the content would have more than ${limits.body_bytes_max} bytes`, changes);
}

function groupByPlace(changes: readonly PlacedChange[]): ReadonlyMap<string, readonly PlacedChange[]> {
  const groups = new Map<string, PlacedChange[]>();
  for (const change of changes) {
    const group = groups.get(change.place);
    if (group === undefined) groups.set(change.place, [change]);
    else group.push(change);
  }
  return groups;
}

/**
 * Sorts by place, policy name, id, operation and value. Numbers come first, in numeric order, so an entry appended with
 * `-` comes last.
 */
function byPlace(a: PlacedChange, b: PlacedChange): number {
  for (let i = 0; i < a.names.length && i < b.names.length; i += 1) {
    const [left = "", right = ""] = [a.names[i], b.names[i]];
    if (left === right) continue;
    const numbered = isIndex(left);
    if (numbered !== isIndex(right)) return numbered ? -1 : 1;
    return numbered ? Number(left) - Number(right) : compare(left, right);
  }
  return (
    a.names.length - b.names.length ||
    compare(a.policy, b.policy) ||
    compare(a.policy_id, b.policy_id) ||
    compare(a.op, b.op) ||
    compareValues(a, b)
  );
}

function compareValues(a: PlacedChange, b: PlacedChange): number {
  return compare(canonicalJson(a.value ?? null), canonicalJson(b.value ?? null));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
