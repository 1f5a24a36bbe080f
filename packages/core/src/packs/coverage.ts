import {
  type Assurance,
  assuranceRank,
  type FactsFrom,
  factCategories,
  factCategoryNames,
} from "@countersign/contract";
import type { PolicyDocument } from "../policy/document.ts";
import { expressionsIn } from "../policy/expressions-in.ts";
import { mentionsOf } from "../policy/fact-paths.ts";

/** Returns the rules by `category.field` in contract order; rules sorted. */
export const factCoverage = (rules: readonly PolicyDocument[]): ReadonlyMap<string, readonly string[]> => {
  const readers = new Map<string, string[]>();
  for (const category of factCategoryNames) {
    for (const { name } of factCategories[category].fields) readers.set(`${category}.${name}`, []);
  }
  for (const rule of rules) {
    for (const path of factsReadBy(rule)) readers.get(path)?.push(rule.metadata.name);
  }
  for (const names of readers.values()) names.sort();
  return readers;
};

/** Returns `category.field`; a whole category as `category.*`. */
export const factsReadBy = (rule: PolicyDocument): ReadonlySet<string> =>
  new Set(expressionsIn(rule).flatMap((source) => [...mentionsOf(source).facts]));

interface CoveringPack {
  readonly rules: readonly PolicyDocument[];
  readonly facts_from: FactsFrom;
}

/** Returns the facts that the rules of a pack may read, in contract order, with the assurance that they need. */
export const packFacts = (pack: CoveringPack): { path: string; assurance: Assurance }[] =>
  [...factCoverage(pack.rules)].flatMap(([path, readers]) =>
    readers.length === 0 ? [] : [{ path, assurance: askedBy(pack, path) }],
  );

const askedBy = ({ facts_from }: CoveringPack, path: string): Assurance =>
  facts_from[path] ?? facts_from[path.split(".")[0] ?? ""] ?? "reported";

/** Returns null if no rule reads the fact. */
const needOf = (packs: readonly CoveringPack[], path: string): Assurance | null => {
  const asked = packs
    .filter(({ rules }) => rules.some((rule) => factsReadBy(rule).has(path)))
    .map((pack) => askedBy(pack, path));
  return asked.sort((a, b) => assuranceRank[b] - assuranceRank[a])[0] ?? null;
};

/** Writes docs/reference/fact-coverage.md. */
export const coverageMarkdown = (packs: readonly CoveringPack[]): string => {
  const rules = packs.flatMap((pack) => pack.rules);
  const coverage = [...factCoverage(rules)];
  const head = [
    "# Facts and the rules that read them",
    "",
    "Written from `packs/` by `npm run gen`; do not edit. A rule is in a row if its condition, its variables or its",
    "modifications may read the fact, directly or through a function that reads all facts. *Needs* is the assurance that the packs",
    "state in `spec.facts_from` of `pack.yaml` ([what the words mean](facts.md#assurance)). It is advice: what counts is set in",
    "`facts_from` of a membrane or policy.",
    "",
    `${coverage.length} facts, ${rules.length} rules.`,
    "",
  ];
  const tables = factCategoryNames.flatMap((category) => [
    `## ${category}`,
    "",
    "| Fact | Needs | Rules |",
    "|---|---|---|",
    ...coverage
      .filter(([path]) => path.startsWith(`${category}.`))
      .map(
        ([path, names]) =>
          `| \`${path.slice(category.length + 1)}\` | ${needOf(packs, path) ?? ""} | ${names.map((name) => `\`${name}\``).join(", ")} |`,
      ),
    "",
  ]);
  return [...head, ...tables].join("\n");
};
