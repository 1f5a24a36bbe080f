/** The scenarios of `@modelcontextprotocol/conformance` for servers, over the two transports of the proxy. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Outcome, Outcomes, Pair } from "../outcomes.ts";
import { runToEnd, startListening } from "../processes.ts";
import { bridge, conformance, fixtureOverHttp, servers } from "../programs.ts";
import type { Through } from "../through.ts";

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
  readonly details?: unknown;
}

/** About HTTP itself. Over standard input and output they would test the bridge. */
const about_http = /^(server-s(tateless|se-.*|ession-.*)|dns-rebinding-protection|http-.*|sse-retry)$/;

/** The program's log of what it sent and got is not compared, and of HTTP only what was checked. */
function outcomeOf(scenario: string, all: readonly Check[]): Outcome {
  const checks = all.filter(({ status }) => status !== "INFO");
  const passed = checks.filter(({ status }) => status === "SUCCESS").length;
  const seen = checks.map(({ id, status, errorMessage = null, details = null }) => ({
    ...{ id, status, errorMessage },
    ...(about_http.test(scenario) ? {} : { details }),
  }));
  return { said: `${passed} of ${checks.length} checks`, seen };
}

/** Returns the results that the program wrote into this folder, a folder for each scenario. */
function resultsIn(folder: string, prefix: RegExp): Outcomes {
  const results = readdirSync(folder, { recursive: true, encoding: "utf8" }).flatMap((path): [string, Outcome][] => {
    const [, folder_name] = /^(.*)-\d{4}-\d\d-\d\dT[\d-]+Z\/checks\.json$/.exec(path) ?? [];
    if (folder_name === undefined) return [];
    const scenario = folder_name.replace(prefix, "");
    return [[scenario, outcomeOf(scenario, JSON.parse(readFileSync(join(folder, path), "utf8")))]];
  });
  return new Map(results.sort(([a], [b]) => a.localeCompare(b)));
}

/** Runs the program with a folder for its results. */
export async function withResults(
  prefix: RegExp,
  args: readonly string[],
  more?: Readonly<Record<string, string>>,
): Promise<Outcomes> {
  const folder = mkdtempSync(join(tmpdir(), "countersign-conformance-"));
  try {
    const { stdout, stderr } = await runToEnd([...conformance, ...args, "--output-dir", folder], more);
    const outcomes = resultsIn(folder, prefix);
    // Its exit code says only whether all checks passed.
    if (outcomes.size === 0) throw new Error(`no scenario ran:\n${stdout}${stderr}`);
    return outcomes;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function runAt(url: string, revision: string): Promise<Outcomes> {
  const outcomes = await withResults(/^server-/, [
    "server",
    "--url",
    url,
    "--suite",
    "all",
    "--spec-version",
    revision,
  ]);
  return new Map([...outcomes].filter(([, { said }]) => said !== "0 of 0 checks"));
}

async function overStdio(through: Through, revision: string): Promise<Outcomes> {
  const { url, stop } = await startListening([...bridge, ...through.command(servers.fixtures)]);
  try {
    return new Map([...(await runAt(url, revision))].filter(([scenario]) => !about_http.test(scenario)));
  } finally {
    await stop();
  }
}

async function overHttp(through: Through, revision: string): Promise<Outcomes> {
  const server = await startListening(fixtureOverHttp);
  try {
    const command = through.proxyOf(server.url);
    if (command === null) return await runAt(server.url, revision);
    const proxy = await startListening(command);
    try {
      return await runAt(proxy.url, revision);
    } finally {
      await proxy.stop();
    }
  } finally {
    await server.stop();
  }
}

const revisions = ["2025-11-25", "2026-07-28"] as const;

export const conformanceOverStdio: readonly Pair[] = revisions.map((revision) => ({
  name: `conformance, ${revision} × fixtures over stdio`,
  run: (through) => overStdio(through, revision),
}));

export const conformanceOverHttp: readonly Pair[] = revisions.map((revision) => ({
  name: `conformance, ${revision} × fixtures over HTTP`,
  run: (through) => overHttp(through, revision),
}));
