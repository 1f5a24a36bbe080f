import type { MembraneSettings } from "../deciding/decision.ts";
import { type PackRules, packSources } from "../packs/pack-sources.ts";
import type { PolicySource } from "../policy/compile.ts";
import type { PolicyDocument } from "../policy/document.ts";

/** Omitted members stay as recorded. */
export interface Candidate {
  /** Unique names. Each replaces the organization's policy of its name or is added. */
  readonly policies?: readonly PolicyDocument[] | undefined;
  readonly packs?: readonly string[] | undefined;
  readonly thresholds?: Partial<MembraneSettings["thresholds"]> | undefined;
  /** Names of policies to remove, including those of packs. */
  readonly without?: readonly string[] | undefined;
}

/** Applies the candidate to the policies of packs and organization. */
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
    // Keeps the id, so recorded overrides still apply.
    return { policy_id: ids.get(name) ?? `pol_candidate ${name}`, version: 0, document, mode: "live" };
  });
  const replaced = new Set(added.map((each) => each.document.metadata.name));
  const left_out = new Set(candidate.without ?? []);
  const kept = own.filter((each) => !replaced.has(each.document.metadata.name));
  return [...base, ...kept, ...added].filter((each) => !left_out.has(each.document.metadata.name));
}

export function membraneWith<M extends MembraneSettings>(membrane: M, candidate: Candidate | null): M {
  if (candidate?.thresholds === undefined) return membrane;
  return { ...membrane, thresholds: { ...membrane.thresholds, ...candidate.thresholds } };
}
