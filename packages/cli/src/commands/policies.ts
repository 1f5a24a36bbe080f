import type { PolicyDiagnostic } from "@countersign/server";
import type { Command } from "commander";
import { findingLine } from "../policy-finding.ts";
import { readTextFile } from "../text-file.ts";
import { visibleJson } from "../visible.ts";
import { addApply } from "./apply-policies.ts";
import { addBacktest } from "./backtest.ts";

const note = `
FILE is a policy document in YAML or JSON. Nothing is saved, and no service or database is needed.`;

const checkHelp = `${note}

Examples:
  $ countersign policies check wires.yaml
  $ countersign policies check policies/*.yaml --json | jq '.[].diagnostics[]'

Exit code: 0 when every document may be saved, 1 otherwise. Warnings do not count.`;

const testHelp = `${note}
Each case under \`tests\` decides its policy alone, as activating the policy would.

Example:
  $ countersign policies test policies/*.yaml

Exit code: 0 when every document may be activated, 1 otherwise.`;

/** What was found about one file. */
interface Checked {
  readonly file: string;
  readonly valid: boolean;
  /** Of form and expressions; on `test` one for each red case too. */
  readonly diagnostics: readonly PolicyDiagnostic[];
  readonly warnings: readonly PolicyDiagnostic[];
  /** Cases that ran, on `test` only: none ran in a document with errors. */
  readonly tests?: readonly {
    readonly name: string;
    readonly passed: boolean;
    readonly mismatches: readonly Mismatch[];
  }[];
}

interface Mismatch {
  readonly field: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

/** Adds `policies check|test|backtest|apply`. */
export function addPolicies(program: Command): void {
  const policies = program.command("policies").description("check, test, try out and save policy documents");
  policies
    .command("check")
    .description("check policy documents and print everything that is wrong")
    .argument("<file...>")
    .option("--json", "print JSON", false)
    .addHelpText("after", checkHelp)
    .action((files: string[], { json }: { json: boolean }) => check(files, json, false));
  policies
    .command("test")
    .description("check policy documents and run the tests beside them")
    .argument("<file...>")
    .option("--json", "print JSON", false)
    .addHelpText("after", testHelp)
    .action((files: string[], { json }: { json: boolean }) => check(files, json, true));
  addBacktest(policies);
  addApply(policies);
}

async function check(files: readonly string[], json: boolean, runTests: boolean): Promise<void> {
  const results: Checked[] = [];
  for (const file of files) results.push(await checkFile(file, runTests));
  if (json) console.log(visibleJson(results, 2));
  else for (const line of results.flatMap(linesOf)) console.log(line);
  if (!json) console.log(summaryOf(results, runTests));
  if (results.some(({ valid }) => !valid)) process.exitCode = 1;
}

async function checkFile(file: string, runTests: boolean): Promise<Checked> {
  // Loaded here, so that the help needs none of it.
  const { checkPolicy, redTestDiagnostics, runPolicyTests } = await import("@countersign/server");
  const text = await readTextFile(file);
  const { document, diagnostics, warnings } = checkPolicy(text);
  const checked = { file, valid: document !== null, diagnostics, warnings };
  if (!runTests) return checked;
  const tests = document === null ? [] : runPolicyTests(document);
  const red = redTestDiagnostics(tests, text);
  return { ...checked, valid: checked.valid && red.length === 0, diagnostics: [...diagnostics, ...red], tests };
}

function linesOf({ file, diagnostics, warnings }: Checked): string[] {
  return [
    ...diagnostics.map((each) => findingLine(file, "error", each)),
    ...warnings.map((each) => findingLine(file, "warning", each)),
  ];
}

function summaryOf(results: readonly Checked[], runTests: boolean): string {
  const wrong = results.filter(({ valid, tests = [] }) => !valid && tests.every(({ passed }) => passed)).length;
  const documents = `${counted(results.length, "document")}, ${wrong} with errors`;
  if (!runTests) return documents;
  const tests = results.flatMap((result) => result.tests ?? []);
  return `${documents}; ${counted(tests.length, "test")}, ${tests.filter(({ passed }) => !passed).length} red`;
}

function counted(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
