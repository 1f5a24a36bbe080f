import type { MembraneSettings } from "../deciding/decision.ts";
import { type PackRules, packSources } from "../packs/pack-sources.ts";
import type { PolicySource } from "../policy/compile.ts";
import type { PolicyDocument } from "../policy/document.ts";

/** The changes that a backtest tries, as plain data. Omitted members stay as they were at each decision. */
export interface Candidate {
  /** Policies, live. Each replaces the organization's own policy of its name, or is added. Names are unique. */
  readonly policies?: readonly PolicyDocument[] | undefined;
  /** Replaces the membrane's packs. */
  readonly packs?: readonly string[] | undefined;
  /** Each threshold replaces the membrane's. */
  readonly thresholds?: Partial<MembraneSettings["thresholds"]> | undefined;
  /** Names of policies to remove: the organization's own or those of packs. */
  readonly without?: readonly string[] | undefined;
}

/**
 * Returns the policies of a set, those of the membrane's packs and the organization's own, with the candidate's
 * changes.
 */
export function sourcesWith(
  packs: PackRules,
  membrane: { readonly packs: readonly string[]; readonly rules_off?: readonly string[] },
  own: readonly PolicySource[],
  candidate: Candidate | null,
): PolicySource[] {
  const base = packSources(packs, candidate?.packs ?? membrane.packs, membrane.rules_off);
  if (candidate === null) return [...base, ...own];
  const ids = new Map(own.map((each) => [each.document.metadata.name, each.policy_id]));
  const added = (candidate.policies ?? []).map((document): PolicySource => {
    const { name } = document.metadata;
    // The id of the policy that it replaces, so that a recorded override of that policy applies here, too.
    return { policy_id: ids.get(name) ?? `pol_candidate ${name}`, version: 0, document, mode: "live" };
  });
  const replaced = new Set(added.map((each) => each.document.metadata.name));
  const left_out = new Set(candidate.without ?? []);
  const kept = own.filter((each) => !replaced.has(each.document.metadata.name));
  return [...base, ...kept, ...added].filter((each) => !left_out.has(each.document.metadata.name));
}

/** Returns the membrane with the candidate's thresholds, or unchanged if there are none. */
export function membraneWith<M extends MembraneSettings>(membrane: M, candidate: Candidate | null): M {
  if (candidate?.thresholds === undefined) return membrane;
  return { ...membrane, thresholds: { ...membrane.thresholds, ...candidate.thresholds } };
}
