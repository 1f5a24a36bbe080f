/** Gives the effects of a command names that rules ask for. */
import type { Effects } from "./effects.ts";
import {
  changingRights,
  changingSystems,
  discarding,
  discardingCode,
  guarding,
  guardVariables,
  namesProduction,
  overwriting,
  ownBranch,
  productionVariable,
  publishing,
  pushing,
  scheduling,
  secretPrinting,
  wipingDisks,
} from "./tables/commands.ts";
import {
  disks,
  guardFiles,
  isSecretFile,
  laterFiles,
  metadataHosts,
  reachingCode,
  wipedRoots,
} from "./tables/files.ts";

type Found = Omit<Effects, "kinds">;

/** docs/reference/policies.md gives the meanings. */
const kindNames = [
  "wipes",
  "discards",
  "reads_secrets",
  "calls_metadata",
  "reaches_out",
  "publishes",
  "pushes",
  "overwrites_branch",
  "changes_rights",
  "runs_later",
  "changes_guard",
  "names_production",
  "changes_systems",
] as const;

type Kind = (typeof kindNames)[number];

const kinds: Readonly<Record<Kind, (found: Found, root: string | null) => boolean>> = {
  wipes: ({ deletes, writes, runs }, root) =>
    deletes.some((path) => isAny(wipedRoots, path) || [root, `${root}/*`, `${root}/.*`].includes(path)) ||
    writes.some((path) => disks.test(path)) ||
    runs.some((run) => wipingDisks.test(run)),
  discards: ({ runs, code, deletes }) =>
    runs.some((run) => isAny(discarding, run)) ||
    code.some((text) => isAny(discardingCode, text)) ||
    deletes.some((path) => /(?:^|\/)\.git(?:\/|$)/.test(path)),
  reads_secrets: ({ reads, runs }) => reads.some(isSecretFile) || runs.some((run) => isAny(secretPrinting, run)),
  calls_metadata: ({ hosts, code }) =>
    hosts.some((host) => metadataHosts.has(host)) ||
    code.some((text) => /169\.254\.169\.254|metadata\.google/.test(text)),
  reaches_out: ({ code }) => code.some((text) => isAny(reachingCode, text)),
  publishes: ({ runs }) => runs.some((run) => isAny(publishing, run)),
  pushes: ({ runs }) => runs.some((run) => isAny(pushing, run)),
  overwrites_branch: ({ runs }) => runs.some((run) => overwriting.test(run) && !ownBranch.test(run)),
  changes_rights: ({ runs, elevated }) => elevated.length > 0 || runs.some((run) => isAny(changingRights, run)),
  runs_later: ({ runs, writes }) =>
    runs.some((run) => isAny(scheduling, run)) || writes.some((path) => isAny(laterFiles, path)),
  changes_guard: ({ runs, writes, deletes, variables }) =>
    [...writes, ...deletes].some((path) => guardFiles.test(path)) ||
    runs.some((run) => isAny(guarding, run)) ||
    variables.some((each) => guardVariables.test(each)),
  names_production: ({ runs, variables, hosts }) =>
    runs.some(namesProduction) ||
    variables.some((each) => productionVariable.test(each)) ||
    hosts.some((host) => /(?:^|[.-])(?:prod|prd|production)(?:[.-]|$)/.test(host)),
  changes_systems: ({ runs }) => runs.some((run) => isAny(changingSystems, run)),
};

export function kindsOf(found: Found, workspace: string | null): readonly Kind[] {
  return kindNames.filter((kind) => kinds[kind](found, workspace));
}

const isAny = (patterns: readonly RegExp[], text: string): boolean => patterns.some((pattern) => pattern.test(text));
