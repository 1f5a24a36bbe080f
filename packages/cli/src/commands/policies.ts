import type { Command } from "commander";
import { counted } from "../counted.ts";
import { type CheckedFile, checkPolicyFile } from "../policy-documents.ts";
import { findingLine } from "../policy-finding.ts";
import type { Terminal } from "../terminal.ts";
import { visibleJson } from "../visible.ts";
import { addApply } from "./apply-policies.ts";
import { addBacktest } from "./backtest.ts";

const note = `
FILE is a policy document in YAML or JSON. Nothing is saved, and no service or database is needed.`;

const check_help = `${note}

Examples:
  $ countersign policies check wires.yaml
  $ countersign policies check policies/*.yaml --json | jq '.[].diagnostics[]'

Exit code: 0 when every document may be saved, 1 otherwise. Warnings do not count.`;

const test_help = `${note}
Each case under \`tests\` decides its policy alone, as activating the policy would.

Example:
  $ countersign policies test policies/*.yaml

Exit code: 0 when every document may be activated, 1 otherwise.`;

export function addPolicies(program: Command, terminal: Terminal): void {
  const policies = program.command("policies").description("check, test, backtest and save policy documents");
  policies
    .command("check")
    .description("check policy documents and print all errors")
    .argument("<file...>")
    .option("--json", "print JSON", false)
    .addHelpText("after", check_help)
    .action((files: string[], { json }: { json: boolean }) => check(terminal, files, json, false));
  policies
    .command("test")
    .description("check policy documents and run their tests")
    .argument("<file...>")
    .option("--json", "print JSON", false)
    .addHelpText("after", test_help)
    .action((files: string[], { json }: { json: boolean }) => check(terminal, files, json, true));
  addBacktest(policies, terminal);
  addApply(policies, terminal);
}

async function check(terminal: Terminal, files: readonly string[], json: boolean, runTests: boolean): Promise<void> {
  const results: CheckedFile[] = [];
  for (const file of files) results.push((await checkPolicyFile(file, runTests)).checked);
  if (json) terminal.print(visibleJson(results, 2));
  else for (const line of results.flatMap(linesOf)) terminal.print(line);
  if (!json) terminal.print(summaryOf(results, runTests));
  if (results.some(({ valid }) => !valid)) terminal.exitCode = 1;
}

function linesOf({ file, diagnostics, warnings }: CheckedFile): string[] {
  return [
    ...diagnostics.map((each) => findingLine(file, "error", each)),
    ...warnings.map((each) => findingLine(file, "warning", each)),
  ];
}

function summaryOf(results: readonly CheckedFile[], runTests: boolean): string {
  const wrong = results.filter(({ valid, tests = [] }) => !valid && tests.every(({ passed }) => passed)).length;
  const documents = `${counted(results.length, "document")}, ${wrong} with errors`;
  if (!runTests) return documents;
  const tests = results.flatMap((result) => result.tests ?? []);
  return `${documents}; ${counted(tests.length, "test")}, ${tests.filter(({ passed }) => !passed).length} red`;
}
