import type { PolicySource } from "../policy/compile.ts";
import type { PolicyDocument } from "../policy/document.ts";

/** The rules of a service's packs, by name. */
export type PackRules = ReadonlyMap<string, { readonly rules: readonly PolicyDocument[] }>;

/** The names that are packs, each once and in order: what a membrane's list comes to. */
export function knownPacks(packs: PackRules, names: readonly string[]): string[] {
  return [...new Set(names)].filter((name) => packs.has(name)).sort();
}

/** Returns the policy id of a pack's rule. */
export const packRuleId = (rule: string): string => `pol_${rule}`;

/** The rules of these packs as policies of a set, without those that are off; all live, each with an id of its name. */
export function packSources(
  packs: PackRules,
  names: readonly string[],
  rules_off: readonly string[] = [],
): PolicySource[] {
  const isOn = ({ metadata }: PolicyDocument): boolean => !rules_off.includes(metadata.name);
  return knownPacks(packs, names).flatMap((pack) =>
    (packs.get(pack)?.rules ?? []).filter(isOn).map((document) => ({
      policy_id: packRuleId(document.metadata.name),
      version: 1,
      document,
      mode: "live" as const,
      pack,
    })),
  );
}
