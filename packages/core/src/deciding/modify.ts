import { hiddenTexts, limits } from "@countersign/contract";
import type { ModifyOp } from "../policy/document.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { holdsHidden, redacted_text } from "../values/hidden-text.ts";
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

/** One change that a fired rule asks for; `value` is already computed from the original content. */
export interface ChangeRequest {
  readonly policy_id: string;
  readonly policy: string;
  readonly op: ModifyOp;
  readonly path: string;
  readonly value?: unknown;
}

/** A patch operation and the policy that asked for it. */
interface AttributedOperation extends PatchOperation {
  readonly policy_id: string | null;
}

/** Changes of which none can be made: why, and whose they are. */
interface Conflict {
  readonly path: string;
  readonly message: string;
  readonly policies: readonly string[];
}

/** All changes as one patch, or why there is none: then people decide. */
export type ChangePlan =
  | {
      readonly kind: "planned";
      readonly operations: readonly AttributedOperation[];
      readonly content: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: "conflict"; readonly conflicts: readonly Conflict[] };

interface Change extends ChangeRequest {
  readonly names: readonly string[];
  /** The place, and those above it, the topmost first: what changes have to do with one another is looked up by them. */
  readonly place: string;
  readonly above: readonly string[];
}

function changeOf(request: ChangeRequest): Change {
  const names = pointerNames(request.path);
  const above: string[] = [];
  let place = "";
  for (const name of names) {
    above.push(place);
    place += `/${pointerToken(name)}`;
  }
  return { ...request, names, place, above };
}

/**
 * Turns the changes that all fired rules ask for into one RFC 6902 patch. The order of `requests` never matters:
 * `remove` beats `redact`, both beat whatever else is asked for at or below their place; of several caps the least
 * counts, of several floors the greatest. Two different values for one place, a place inside another, a cap below a
 * floor, a cap on what is no number, a value that carries elsewhere what another rule hides, and one that makes the content
 * larger than a body may be are conflicts. What is already as asked for makes no operation. `remove` and `redact` are never
 * in conflict. `also_hidden` is kept from people without being changed.
 * Source: policies.md §3 rule 5.
 */
export function planChanges(
  content: Readonly<Record<string, unknown>>,
  requests: readonly ChangeRequest[],
  also_hidden: readonly ChangeRequest[] = [],
): ChangePlan {
  const changes = requests.map(changeOf).sort(byPlace);
  /** What hides each place: of several the first that removes it, else the first. */
  const hiding = new Map<string, Change>();
  for (const change of changes) {
    if (!isHide(change)) continue;
    const known = hiding.get(change.place);
    if (known === undefined || (known.op !== "remove" && change.op === "remove")) hiding.set(change.place, change);
  }
  const isHiddenAbove = ({ above }: Change) => above.some((place) => hiding.has(place));
  const hides = changes.filter((change) => hiding.get(change.place) === change && !isHiddenAbove(change));
  const values = changes.filter((change) => !hiding.has(change.place) && !isHiddenAbove(change));

  const conflicts: Conflict[] = [];
  if ((hides.length > 0 || also_hidden.length > 0) && values.length > 0) {
    const hidden = hiddenTexts(content, hideContent(content, [...hides, ...also_hidden]).content);
    for (const change of values) {
      if (holdsHidden(change.value, hidden)) conflicts.push(conflict(change.path, holds_hidden, [change]));
    }
  }
  const writes: (Settled & { kind: "value" })[] = [];
  const groups = byPlaces(values);
  for (const group of groups.values()) {
    const [first] = group;
    if (first === undefined) continue;
    const outer = first.above.flatMap((place) => groups.get(place) ?? []);
    const [inside] = outer;
    if (inside !== undefined) {
      conflicts.push(conflict(first.path, `${first.path} lies inside ${inside.path}`, [...group, ...outer]));
      continue;
    }
    const settled = settle(content, group);
    if (settled.kind === "conflict") conflicts.push(settled.conflict);
    else if (settled.kind === "value") writes.push(settled);
  }
  if (conflicts.length > 0) return { kind: "conflict", conflicts };

  const operations: AttributedOperation[] = [];
  const draft = openDraft(content);
  const perform = (change: Change, wanted: readonly PatchOperation[]): void => {
    for (const operation of wanted) {
      const message = applyTo(draft, operation);
      if (message !== null) {
        conflicts.push(conflict(change.path, message, [change]));
        return;
      }
      operations.push({ ...operation, policy_id: change.policy_id });
    }
  };
  // All that is written stands in the content side by side: what has no room there is not even copied.
  let room: number = limits.body_bytes_max;
  for (const { change, value } of writes) {
    room = jsonRoom(value, room);
    if (room < 0) break;
    perform(change, writing(draft.document, change, value));
  }
  const is_little = limits.body_bytes_max - room <= small_bytes_max;
  if (room < 0 || (!is_little && isJsonLarger(draft.document, limits.body_bytes_max))) conflicts.push(tooLarge(writes));
  // From the end, so that removing one entry of a list does not shift the next.
  for (const hide of hides.reverse()) perform(hide, hidingOf(draft.document, hide));
  return conflicts.length > 0
    ? { kind: "conflict", conflicts }
    : { kind: "planned", operations, content: draft.document as Record<string, unknown> };
}

/**
 * The content after `hides` (only remove and redact), which is what people may be shown, and the JSON Pointers of what is
 * gone. The content itself when nothing is.
 */
export function hideContent(
  content: Readonly<Record<string, unknown>>,
  hides: readonly ChangeRequest[],
): { readonly content: Readonly<Record<string, unknown>>; readonly withheld: readonly string[] } {
  const plan = planChanges(content, hides);
  if (plan.kind === "conflict") throw new Error("what only hides is in no conflict");
  return { content: plan.content, withheld: plan.operations.map(({ path }) => path) };
}

/** Why a value is not written. */
export const holds_hidden = "the value holds what another rule hides";

/** Values of so many bytes do not make a content too large, one or all together. */
const small_bytes_max = 256;

type Settled =
  | { readonly kind: "none" }
  | { readonly kind: "value"; readonly change: Change; readonly value: unknown }
  | { readonly kind: "conflict"; readonly conflict: Conflict };

/** What several set, cap and floor at one place come to. */
function settle(content: unknown, group: readonly Change[]): Settled {
  const conflicting = (message: string, changes: readonly Change[]): Settled => ({
    kind: "conflict",
    conflict: conflict(group[0]?.path ?? "", message, changes),
  });
  const sets = group.filter((change) => change.op === "set");
  const cap = leastOf(
    group.filter((change) => change.op === "cap"),
    1,
  );
  const floor = leastOf(
    group.filter((change) => change.op === "floor"),
    -1,
  );
  const [set] = sets;
  if (sets.some(({ value }) => value !== set?.value && canonicalJson(value) !== canonicalJson(set?.value)))
    return conflicting("two rules set different values", sets);
  if (group.some((change) => change.op !== "set" && typeof change.value !== "number"))
    return conflicting("a bound is not a number", group);
  const low = (floor?.value ?? -Infinity) as number;
  const high = (cap?.value ?? Infinity) as number;
  if (low > high) return conflicting("the floor lies above the cap", group);
  const original = set === undefined ? valueAt(content, group[0]?.names ?? []) : set.value;
  if (cap === undefined && floor === undefined)
    return set === undefined ? { kind: "none" } : { kind: "value", change: set, value: original };
  if (typeof original !== "number") return conflicting("only a number can be bounded", group);
  if (original >= low && original <= high)
    return set === undefined ? { kind: "none" } : { kind: "value", change: set, value: original };
  if (set !== undefined) return conflicting("one rule sets a value that another does not allow", group);
  const bound = original > high ? cap : floor;
  return bound === undefined ? { kind: "none" } : { kind: "value", change: bound, value: bound.value };
}

function leastOf(changes: readonly Change[], sign: number): Change | undefined {
  return changes.reduce<Change | undefined>((best, change) => {
    const better = best === undefined || sign * ((change.value as number) - (best.value as number)) < 0;
    return better ? change : best;
  }, undefined);
}

/** The operations that write a value: none when it is there already, and one more for each object missing above it. */
function writing(content: unknown, change: Change, value: unknown): PatchOperation[] {
  const there = valueAt(content, change.names);
  if (there !== nothing) {
    return canonicalJson(there) === canonicalJson(value) ? [] : [{ op: "replace", path: change.path, value }];
  }
  const tokens = change.path.split("/");
  const operations: PatchOperation[] = [];
  for (let depth = 1; depth < change.names.length; depth += 1) {
    if (valueAt(content, change.names.slice(0, depth)) === nothing)
      operations.push({ op: "add", path: tokens.slice(0, depth + 1).join("/"), value: {} });
  }
  return [...operations, { op: "add", path: change.path, value }];
}

function hidingOf(content: unknown, change: Change): PatchOperation[] {
  const there = valueAt(content, change.names);
  if (there === nothing || (change.op === "redact" && there === redacted_text)) return [];
  return [
    change.op === "remove"
      ? { op: "remove", path: change.path }
      : { op: "replace", path: change.path, value: redacted_text },
  ];
}

function conflict(path: string, message: string, changes: readonly Change[]): Conflict {
  return { path, message, policies: [...new Set(changes.map((change) => change.policy))].sort() };
}

/** Whoever writes a large value; where nobody does, all who write. */
function tooLarge(writes: readonly (Settled & { kind: "value" })[]): Conflict {
  const large = writes.filter(({ value }) => isJsonLarger(value, small_bytes_max));
  const changes = (large.length > 0 ? large : writes).map(({ change }) => change);
  return conflict(changes[0]?.path ?? "", `the content would have more than ${limits.body_bytes_max} bytes`, changes);
}

function isHide({ op }: Change): boolean {
  return op === "remove" || op === "redact";
}

function byPlaces(changes: readonly Change[]): ReadonlyMap<string, readonly Change[]> {
  const groups = new Map<string, Change[]>();
  for (const change of changes) {
    const group = groups.get(change.place);
    if (group === undefined) groups.set(change.place, [change]);
    else group.push(change);
  }
  return groups;
}

/**
 * By place, then policy name, id and operation: the same order whatever the order of asking. Of one list or object the
 * numbers come first, by what they count, then the other names: what is appended with `-` stands behind the entries named.
 */
function byPlace(a: Change, b: Change): number {
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

function compareValues(a: Change, b: Change): number {
  return compare(canonicalJson(a.value ?? null), canonicalJson(b.value ?? null));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
