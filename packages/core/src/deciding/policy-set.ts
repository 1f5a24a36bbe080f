import type { EvaluationContext, Timestamp } from "@countersign/cel";
import { type CatalogueEntry, type FactsFrom, foldName } from "@countersign/contract";
import { countVariables } from "../counters/counting.ts";
import { type Tracks, tracksOf } from "../counters/tracks.ts";
import { type FactLimits, type MaxAgeSeconds, resolveLimits } from "../facts/staleness.ts";
import { type KnownNamesByKind, knownNames } from "../names/known-names.ts";
import { matchNames } from "../names/policy-names.ts";
import { ActionIndex, type ActionKey, isAgentUnknown } from "../policy/action-index.ts";
import type { HashedPolicy, SharedPolicies } from "../policy/check/shared-policies.ts";
import { type CompiledPolicy, compilePolicy, type PolicySource } from "../policy/compile.ts";
import { finish } from "../policy/expressions.ts";
import { type FactPath, factPath } from "../policy/fact-paths.ts";
import { policySha256 } from "../policy/policy-sha256.ts";
import { SharedVariables } from "../policy/shared-variables.ts";
import { strongComponents } from "../policy/strong-components.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { sha256Hex } from "../values/fingerprint.ts";
import type { MembraneSettings } from "./decision.ts";
import { type ParameterTypes, parameterTypes } from "./parameter-types.ts";

/** `validUntilUs` visits each slot once per decision. */
interface FactSlot extends FactPath {
  readonly profile: number;
}

export interface PlacedPolicy {
  readonly policy: CompiledPolicy;
  /** Index in `PolicyGroup.placed`. */
  readonly place: number;
  /** Index in `PreparedMembrane.limits`. */
  readonly profile: number;
  /** Facts in `when`. */
  readonly when_slots: readonly number[];
  /** Facts in `require` and in the expressions of a fired policy. */
  readonly require_slots: readonly number[];
  /** True if an unnamed caller may or may not match this policy. */
  readonly agent_unknown: boolean;
  /** Places of the policies that do not vote if this one fires. */
  readonly suppresses: readonly number[];
}

export interface PolicyGroup {
  readonly placed: readonly PlacedPolicy[];
  readonly candidates: (key: ActionKey) => readonly number[];
}

export interface PreparedMembrane {
  /** By folded verb. */
  readonly catalogue: ReadonlyMap<string, CatalogueEntry>;
  /** By folded verb; only tools with recorded types. */
  readonly parameters: ReadonlyMap<string, ParameterTypes>;
  readonly limits: readonly FactLimits[];
  readonly names: {
    readonly live: KnownNamesByKind;
    readonly shadow: KnownNamesByKind;
    /** Of all policies and earlier actions, because an action counts in the counters of its readings, too. */
    readonly counted: KnownNamesByKind;
  };
}

/** Immutable; compiled once per change. */
export interface PolicySet {
  readonly version: number;
  /** SHA-256 over ids, versions, modes, packs and documents in a fixed order. */
  readonly sha256: string;
  readonly live: PolicyGroup;
  readonly shadow: PolicyGroup;
  readonly slots: readonly FactSlot[];
  readonly tracks: Tracks;
  /** Null without counters. */
  readonly counts: ReturnType<typeof countVariables> | null;
  readonly prepare: (membrane: MembraneSettings) => PreparedMembrane;
  /** Set the budget before each program. `declared`: paths of parameters with a recorded type. */
  readonly begin: (
    bindings: Readonly<Record<string, unknown>>,
    now: Timestamp,
    declared: ReadonlySet<string> | null,
  ) => EvaluationContext;
}

interface PolicySetSource {
  /** In any order. */
  readonly policies: readonly PolicySource[];
  readonly version: number;
  /** Cache shared by all sets. */
  readonly shared?: SharedPolicies;
}

/** Policies compiled per step. One step takes a few milliseconds. */
const policies_a_step = 8;

/** Throws for text that is not CEL. */
export function compilePolicySet(source: PolicySetSource): PolicySet {
  return finish(policySetSteps(source));
}

/** Compiles in steps, because hundreds of policies take some tenths of a second. */
export function* policySetSteps(source: PolicySetSource): Generator<void, PolicySet> {
  const ordered = [...source.policies].sort(byName);
  const compiled = yield* compileSteps(ordered, source.shared);
  const parts = ordered.map(({ policy_id, version, mode, pack }, place) => {
    return { policy_id, version, mode, pack: pack ?? null, sha256: compiled.policies[place]?.sha256 };
  });
  const tables = new Tables();
  const live = group(
    compiled.policies.filter(({ policy }) => policy.mode === "live"),
    tables,
  );
  const shadow = group(
    compiled.policies.filter(({ policy }) => policy.mode === "shadow"),
    tables,
  );
  const tracks = tracksOf(compiled.policies.map(({ policy }) => policy));
  const namesOf = ({ placed }: PolicyGroup) => knownNames(placed.map(({ policy }) => policy.names));
  const names = { live: namesOf(live), shadow: namesOf(shadow), counted: countedNames([live, shadow], tracks) };
  const prepared = new WeakMap<MembraneSettings, PreparedMembrane>();
  const prepare = (membrane: MembraneSettings): PreparedMembrane => {
    const known = prepared.get(membrane);
    if (known !== undefined) return known;
    const made = {
      catalogue: new Map(membrane.action_catalogue.map((entry) => [foldName(entry.verb), entry])),
      parameters: new Map(
        membrane.action_catalogue.flatMap((entry) => {
          const types = parameterTypes(entry);
          return types === null ? [] : [[foldName(entry.verb), types] as const];
        }),
      ),
      limits: tables.profiles.map((layer) =>
        resolveLimits([membrane.facts_max_age, layer?.max_age_seconds], [membrane.facts_from, layer?.facts_from]),
      ),
      names: {
        live: names.live(membrane.action_catalogue),
        shadow: names.shadow(membrane.action_catalogue),
        counted: (names.counted ?? names.live)(membrane.action_catalogue),
      },
    };
    prepared.set(membrane, made);
    return made;
  };
  return {
    version: source.version,
    sha256: sha256Hex(canonicalJson(parts)),
    live,
    shadow,
    slots: tables.slots,
    tracks,
    counts: tracks.byName.size === 0 ? null : countVariables(tracks),
    prepare,
    begin: (bindings, now, declared) => compiled.variables.environment.begin(bindings, { now, declared }),
  };
}

/** Returns the names of all policies and earlier actions; null: nothing counts. */
function countedNames(groups: readonly PolicyGroup[], { byName }: Tracks): ReturnType<typeof knownNames> | null {
  if (byName.size === 0) return null;
  const ofPolicies = groups.flatMap(({ placed }) => placed.map(({ policy }) => policy.names));
  const earlier = [...byName.values()].filter(({ kind }) => kind === "after");
  return knownNames([...ofPolicies, ...earlier.map(({ match }) => matchNames(match))]);
}

/** Compiles pack policies first, so their variables have the same slots in all sets. */
function* compileSteps(
  ordered: readonly PolicySource[],
  shared: SharedPolicies | undefined,
): Generator<void, { readonly policies: readonly HashedPolicy[]; readonly variables: SharedVariables }> {
  const ofPacks = yield* mapInSteps(ordered, (source) =>
    shared === undefined || (source.pack ?? null) === null ? null : shared.get(source),
  );
  const variables = new SharedVariables(shared?.variables);
  const policies = yield* mapInSteps(ordered, (source, place) => {
    const known = ofPacks[place];
    return known ?? { policy: compilePolicy(source, variables), sha256: policySha256(source.document) };
  });
  return { policies, variables };
}

function* mapInSteps<T, R>(items: readonly T[], map: (item: T, place: number) => R): Generator<void, R[]> {
  const mapped: R[] = [];
  for (const item of items) {
    mapped.push(map(item, mapped.length));
    if (mapped.length % policies_a_step === 0) yield;
  }
  return mapped;
}

function byName(a: PolicySource, b: PolicySource): number {
  const [left, right] = [a.document.metadata.name, b.document.metadata.name];
  if (left !== right) return left < right ? -1 : 1;
  return a.policy_id < b.policy_id ? -1 : a.policy_id > b.policy_id ? 1 : a.version - b.version;
}

interface Profile {
  readonly max_age_seconds: MaxAgeSeconds | undefined;
  readonly facts_from: FactsFrom | undefined;
}

class Tables {
  readonly profiles: (Profile | undefined)[] = [undefined];
  readonly slots: FactSlot[] = [];
  private readonly profileByText = new Map<string, number>();
  private readonly slotByText = new Map<string, number>();

  profile({ max_age_seconds, facts_from }: CompiledPolicy): number {
    if (max_age_seconds === null && facts_from === null) return 0;
    const text = canonicalJson({ max_age_seconds, facts_from });
    const known = this.profileByText.get(text);
    if (known !== undefined) return known;
    this.profileByText.set(text, this.profiles.length);
    const profile = { max_age_seconds: max_age_seconds ?? undefined, facts_from: facts_from ?? undefined };
    return this.profiles.push(profile) - 1;
  }

  slotsOf(facts: readonly string[], profile: number): number[] {
    return facts.flatMap((text) => {
      const path = factPath(text);
      if (path === null) return [];
      const known = this.slotByText.get(`${profile} ${text}`);
      if (known !== undefined) return [known];
      this.slotByText.set(`${profile} ${text}`, this.slots.length);
      return [this.slots.push({ ...path, profile }) - 1];
    });
  }
}

function group(compiled: readonly HashedPolicy[], tables: Tables): PolicyGroup {
  const policies = compiled.map(({ policy }) => policy);
  const suppressed = suppressions(policies);
  const placed = policies.map((policy, place): PlacedPolicy => {
    const profile = tables.profile(policy);
    const when_slots = tables.slotsOf(policy.when_facts, profile);
    const require_slots = tables.slotsOf(policy.require_facts, profile);
    const agent_unknown = isAgentUnknown(policy.document.spec.match ?? {});
    return { policy, place, profile, when_slots, require_slots, agent_unknown, suppresses: suppressed[place] ?? [] };
  });
  const index = new ActionIndex(policies.map(({ document }) => document.spec.match ?? {}));
  return { placed, candidates: (key) => index.candidates(key) };
}

/**
 * Returns the suppressed places of each policy, only within its pack. Policies in a cycle do not suppress each other.
 */
function suppressions(policies: readonly CompiledPolicy[]): number[][] {
  const places = new Map<string, number[]>();
  policies.forEach((policy, place) => {
    const key = `${policy.pack ?? ""}\0${policy.name}`;
    places.set(key, [...(places.get(key) ?? []), place]);
  });
  const edges = policies.map((policy) =>
    policy.suppresses.flatMap((name) => places.get(`${policy.pack ?? ""}\0${name}`) ?? []),
  );
  const components = strongComponents(edges);
  return edges.map((targets, place) => targets.filter((target) => components[target] !== components[place]));
}
