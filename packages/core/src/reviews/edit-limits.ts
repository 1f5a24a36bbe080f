/** A reviewer's change must neither make a blocking rule unknown nor change a value's JSON type. */
import type { Cause } from "@countersign/cel";
import { bindFacts } from "../deciding/bind-facts.ts";
import { classify } from "../deciding/classify.ts";
import type { Content, DecideInput } from "../deciding/decision.ts";
import { evaluatePolicies, type Vote } from "../deciding/evaluate.ts";
import { isOfType } from "../deciding/parameter-types.ts";
import { pointerToken } from "../values/json-patch.ts";

/** Returns votes of blocking policies that are unknown on `after` for a new cause, regardless of `on_unknown`. */
export function blindedBlocks(input: DecideInput, before: Content, after: Content): Vote[] {
  const blind = unknownsOn(input, after).filter(({ placed }) => placed.policy.effect === "block");
  if (blind.length === 0) return [];
  const known = causesOf(unknownsOn(input, before));
  return blind.filter((vote) => [...causesOf([vote])].some((cause) => !known.has(cause)));
}

export interface ChangedType {
  /** `*` means every list entry. */
  readonly path: string;
  readonly type: JsonType;
}

/** Policies rarely read more places. */
const places_asked_max = 16;

/**
 * Returns the first place in `after` with a JSON type new to that place. The type is allowed if the tool's schema or a
 * policy needs it. Anything may replace null, which counts as missing.
 */
export function changedType(input: DecideInput, before: readonly Content[], after: Content): ChangedType | null {
  const types = new Map(
    [...(classify(input).action.parameters?.byName ?? [])].map(([name, type]) => [`/${pointerToken(name)}`, type]),
  );
  const earlier = before.map((content) => valuesByPlace(content));
  let causes: ReadonlySet<string> | null = null;
  let asked = 0;
  for (const [path, values] of valuesByPlace(after)) {
    const known = new Map(earlier.flatMap((places) => [...(places.get(path) ?? [])]));
    known.delete("null");
    const [replaced] = known.values();
    if (replaced === undefined) continue;
    for (const type of values.keys()) {
      if (known.has(type)) continue;
      const recorded = types.get(path);
      if (recorded !== undefined && isOfType(values.get(type), recorded)) continue;
      asked += 1;
      if (asked > places_asked_max) return { path, type };
      causes ??= causesOf(unknownsOn(input, after));
      const undone = withValue(after, path.split("/").slice(1), type, replaced) as Content;
      const now = causes;
      if (![...causesOf(unknownsOn(input, undone))].some((cause) => !now.has(cause))) return { path, type };
    }
  }
  return null;
}

/** Returns unknown votes regardless of `on_unknown`. */
function unknownsOn(input: DecideInput, content: Content): readonly Vote[] {
  const { intent, policySet, now_us } = input;
  const { action, viewsFor } = bindFacts(
    classify({ ...input, intent: { ...intent, payload: { ...intent.payload, content } } }),
  );
  const { placed, candidates } = policySet.live;
  const voting = placed.map((each) => ({ ...each, policy: { ...each.policy, on_unknown: "escalate" as const } }));
  const { votes } = evaluatePolicies({ placed: voting, candidates }, candidates(action.key), viewsFor, now_us);
  return votes.filter(({ unknowns }) => unknowns.length > 0);
}

function causesOf(votes: readonly Vote[]): ReadonlySet<string> {
  const name = ({ placed }: Vote, { path, reason }: Cause): string =>
    JSON.stringify([placed.policy.policy_id, path, reason]);
  return new Set(votes.flatMap((vote) => vote.unknowns.map((cause) => name(vote, cause))));
}

type JsonType = "null" | "boolean" | "number" | "text" | "list" | "object";

function typeOf(value: unknown): JsonType {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  return typeof value === "string" ? "text" : (typeof value as "boolean" | "number" | "object");
}

type ValuesByPlace = Map<string, Map<JsonType, unknown>>;

/** One value per JSON type and path. */
function valuesByPlace(value: unknown, path = "", found: ValuesByPlace = new Map()): ValuesByPlace {
  const here = found.get(path) ?? new Map<JsonType, unknown>();
  found.set(path, here.set(typeOf(value), value));
  if (Array.isArray(value)) for (const each of value) valuesByPlace(each, `${path}/*`, found);
  else if (typeof value === "object" && value !== null)
    for (const [name, each] of Object.entries(value)) valuesByPlace(each, `${path}/${pointerToken(name)}`, found);
  return found;
}

/** `tokens`: the remaining path. */
function withValue(content: unknown, tokens: readonly string[], type: JsonType, value: unknown): unknown {
  const [token, ...rest] = tokens;
  if (token === undefined) return typeOf(content) === type ? value : content;
  if (Array.isArray(content)) return content.map((each) => withValue(each, rest, type, value));
  if (typeof content !== "object" || content === null) return content;
  return Object.fromEntries(
    Object.entries(content).map(([name, each]) => [
      name,
      pointerToken(name) === token ? withValue(each, rest, type, value) : each,
    ]),
  );
}
