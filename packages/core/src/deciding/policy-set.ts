import type { EvaluationContext, Timestamp } from "@countersign/cel";
import { type CatalogueEntry, type FactsFrom, foldName } from "@countersign/contract";
import { type FactLimits, type MaxAgeSeconds, resolveLimits } from "../facts/staleness.ts";
import { type KnownNamesByKind, knownNames } from "../names/known-names.ts";
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

/** One fact that policies of one profile may read. `valid_until` looks at each slot once per decision. */
interface FactSlot extends FactPath {
  readonly profile: number;
}

/** A policy at its place in a group. */
export interface PlacedPolicy {
  readonly policy: CompiledPolicy;
  /** The index of this policy in `PolicyGroup.placed`. */
  readonly place: number;
  /** The profile of the policy: an index into `PreparedMembrane.limits`. */
  readonly profile: number;
  /** Slots of the facts that `when` may read. */
  readonly when_slots: readonly number[];
  /** Slots of the facts that `require` and the expressions of a fired policy may read. */
  readonly require_slots: readonly number[];
  /** Whether it is unknown if this policy matches the actions of an unnamed caller. */
  readonly agent_unknown: boolean;
  /** Places of the policies that do not vote when this one fires. */
  readonly suppresses: readonly number[];
}

/** Policies that are evaluated together, in a fixed order. */
export interface PolicyGroup {
  readonly placed: readonly PlacedPolicy[];
  readonly candidates: (key: ActionKey) => readonly number[];
}

/** The settings of a membrane, prepared for one policy set. */
export interface PreparedMembrane {
  /** By folded verb. */
  readonly catalogue: ReadonlyMap<string, CatalogueEntry>;
  /** By folded verb, of the tools with recorded types of parameters. */
  readonly parameters: ReadonlyMap<string, ParameterTypes>;
  readonly limits: readonly FactLimits[];
  /** The names that the catalogue or a policy knows, by the group of the policy. */
  readonly names: { readonly live: KnownNamesByKind; readonly shadow: KnownNamesByKind };
}

/** All policies of a membrane, compiled. Immutable; compiled once per change and used for every decision. */
export interface PolicySet {
  readonly version: number;
  /** SHA-256 over ids, versions, modes and documents of all policies, in a fixed order. */
  readonly sha256: string;
  readonly live: PolicyGroup;
  readonly shadow: PolicyGroup;
  readonly slots: readonly FactSlot[];
  readonly prepare: (membrane: MembraneSettings) => PreparedMembrane;
  /**
   * Begins an evaluation of this set's programs on these bindings. The caller sets the budget before each program. `declared`: paths of
   * parameters with a recorded type; null: none.
   */
  readonly begin: (
    bindings: Readonly<Record<string, unknown>>,
    now: Timestamp,
    declared: ReadonlySet<string> | null,
  ) => EvaluationContext;
}

/** The input of `compilePolicySet`. */
interface PolicySetSource {
  /** In any order. */
  readonly policies: readonly PolicySource[];
  readonly version: number;
  /** Compiles the policies of packs once for all sets; without it they are compiled for this set. */
  readonly shared?: SharedPolicies;
}

/** The number of policies that one step compiles. A step takes a few milliseconds. */
const policies_a_step = 8;

/** Compiles the policies of one membrane. The order of `policies` never matters. Throws for text that is not CEL. */
export function compilePolicySet(source: PolicySetSource): PolicySet {
  return finish(policySetSteps(source));
}

/** Compiles a policy set in steps, because hundreds of policies take some tenths of a second. */
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
  const namesOf = ({ placed }: PolicyGroup) => knownNames(placed.map(({ policy }) => policy.names));
  const names = { live: namesOf(live), shadow: namesOf(shadow) };
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
      names: { live: names.live(membrane.action_catalogue), shadow: names.shadow(membrane.action_catalogue) },
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
    prepare,
    begin: (bindings, now, declared) => compiled.variables.environment.begin(bindings, { now, declared }),
  };
}

/** Compiles the policies of packs first, so that their variables have the same slots in all sets. */
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

/** What a policy asks of its facts. */
interface Profile {
  readonly max_age_seconds: MaxAgeSeconds | undefined;
  readonly facts_from: FactsFrom | undefined;
}

/** The profiles and fact slots of a set, numbered in the order of first use. */
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
 * Returns for each policy the places that it suppresses: the named policies of its own pack. Policies that suppress each other
 * in a cycle suppress nothing within that cycle.
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
