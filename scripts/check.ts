/**
 * `npm run check`: runs all static checks, even after a failure. Prints one line for each; exits with 1 if any failed.
 */

import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { staleFiles } from "./gen.ts";
import { repositoryYamlProblems } from "./lint-yaml.ts";
import { findingText, repositoryFindings } from "./tidy/tidy.ts";

interface Check {
  readonly name: string;
  readonly mend: string;
  readonly run: () => string;
}

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

function tool(name: string, ...args: readonly string[]): () => string {
  return () => {
    const { status, error, stdout, stderr } = spawnSync(join(root, "node_modules/.bin", name), args, {
      cwd: root,
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024,
    });
    if (status === 0) return "";
    return error?.message ?? (`${stdout}${stderr}`.trim() || `${name} ended with status ${status}`);
  };
}

const checks: readonly Check[] = [
  { name: "style", mend: "npx biome check --write .", run: tool("biome", "check", "--error-on-warnings", ".") },
  {
    name: "tidy",
    mend: "do what each finding says",
    run: () => repositoryFindings().findings.map(findingText).join("\n"),
  },
  { name: "types", mend: "see the errors above", run: tool("tsc", "-p", "tsconfig.test.json") },
  {
    name: "console",
    mend: "see the errors above",
    run: tool("tsc", "-p", "packages/console/tsconfig.json"),
  },
  { name: "yaml", mend: "see the lines above", run: repositoryYamlProblems },
  { name: "unused", mend: "remove it, or use it", run: tool("knip", "--no-config-hints", "--no-progress") },
  { name: "generated", mend: "npm run gen", run: () => staleFiles().join("\n") },
];

function outcomeOf({ run }: Check): string {
  try {
    return run();
  } catch (error) {
    return String(error);
  }
}

const results = checks.map((check) => {
  const began_ms = performance.now();
  const wrong = outcomeOf(check);
  if (wrong !== "") console.log(`\n── ${check.name} ──\n${wrong}\n`);
  return { ...check, good: wrong === "", seconds: ((performance.now() - began_ms) / 1000).toFixed(1) };
});

for (const { name, good, seconds, mend } of results) {
  console.log(`${good ? "✓" : "✗"} ${name.padEnd(10)} ${seconds.padStart(5)} s${good ? "" : `   → ${mend}`}`);
}
process.exitCode = results.every(({ good }) => good) ? 0 : 1;
