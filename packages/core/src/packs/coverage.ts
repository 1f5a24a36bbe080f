import { factCategories, factCategoryNames } from "@countersign/contract";
import type { PolicyDocument } from "../policy/document.ts";
import { expressionsIn } from "../policy/expressions-in.ts";
import { mentionsOf } from "../policy/fact-paths.ts";

/** Which rules read a fact, by `category.field`, for every fact that the contract lists; in contract order, rules sorted. */
export const factCoverage = (rules: readonly PolicyDocument[]): ReadonlyMap<string, readonly string[]> => {
  const readers = new Map<string, string[]>();
  for (const category of factCategoryNames) {
    for (const { name } of factCategories[category].fields) readers.set(`${category}.${name}`, []);
  }
  for (const rule of rules) {
    for (const path of factsOf(rule)) readers.get(path)?.push(rule.metadata.name);
  }
  for (const names of readers.values()) names.sort();
  return readers;
};

const factsOf = (rule: PolicyDocument): ReadonlySet<string> =>
  new Set(expressionsIn(rule).flatMap((source) => [...mentionsOf(source).facts]));

/** The coverage as a page: docs/fact-coverage.md. */
export const coverageMarkdown = (rules: readonly PolicyDocument[]): string => {
  const coverage = [...factCoverage(rules)];
  const head = [
    "# Facts and the rules that read them",
    "",
    "Written from `packs/` by `npm run gen`; do not edit. A rule stands in a row when its condition, its variables or its",
    "modifications may read the fact, directly or through a function that reads all facts.",
    "",
    `${coverage.length} facts, ${rules.length} rules.`,
    "",
  ];
  const tables = factCategoryNames.flatMap((category) => [
    `## ${category}`,
    "",
    "| Fact | Rules |",
    "|---|---|",
    ...coverage
      .filter(([path]) => path.startsWith(`${category}.`))
      .map(
        ([path, names]) =>
          `| \`${path.slice(category.length + 1)}\` | ${names.map((name) => `\`${name}\``).join(", ")} |`,
      ),
    "",
  ]);
  return [...head, ...tables].join("\n");
};
