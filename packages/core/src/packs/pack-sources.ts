import type { PolicySource } from "../policy/compile.ts";
import type { PolicyDocument } from "../policy/document.ts";

export type PackRules = ReadonlyMap<string, { readonly rules: readonly PolicyDocument[] }>;

/** Returns distinct names, sorted. */
export function knownPacks(packs: PackRules, names: readonly string[]): string[] {
  return [...new Set(names)].filter((name) => packs.has(name)).sort();
}

export const packRuleId = (rule: string): string => `pol_${rule}`;

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
