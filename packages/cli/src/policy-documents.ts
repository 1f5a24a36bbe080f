/** Policy documents in files. */
import type { PolicyDiagnostic, PolicyDocument } from "@countersign/core";
import { CommandFailed } from "./command-failed.ts";
import { findingLine } from "./policy-finding.ts";
import { readTextFile } from "./text-file.ts";

/** What was found about one file. */
export interface CheckedFile {
  readonly file: string;
  readonly valid: boolean;
  /** Of form and expressions; where its tests were run, one for each red case too. */
  readonly diagnostics: readonly PolicyDiagnostic[];
  readonly warnings: readonly PolicyDiagnostic[];
  /** Cases that ran, where they were to: none ran in a document with errors. */
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

/** Checks one file, and with `runTests` runs the tests in it. `document` is null where it has errors of form or expressions. */
export async function checkPolicyFile(
  file: string,
  runTests: boolean,
): Promise<{ readonly checked: CheckedFile; readonly document: PolicyDocument | null }> {
  // Loaded here, so that the help needs none of it.
  const { checkPolicy, redTestDiagnostics, runPolicyTests } = await import("@countersign/core");
  const text = await readTextFile(file);
  const { document, diagnostics, warnings, located } = checkPolicy(text);
  const checked = { file, valid: document !== null, diagnostics, warnings };
  if (!runTests) return { checked, document };
  const tests = document === null ? [] : runPolicyTests(document);
  const red = redTestDiagnostics(tests, located);
  const valid = checked.valid && red.length === 0;
  return { checked: { ...checked, valid, diagnostics: [...diagnostics, ...red], tests }, document };
}

/** A document without errors, and where it stands. */
export interface PolicyFile {
  readonly file: string;
  readonly document: PolicyDocument;
  /** What is allowed, and hardly meant; a line each. */
  readonly warnings: readonly string[];
}

/**
 * The documents of all files; with `runTests`, the tests in each have to be green. Throws CommandFailed with every error at
 * its line and column.
 */
export async function readPolicyFiles(files: readonly string[], runTests = false): Promise<PolicyFile[]> {
  const found: PolicyFile[] = [];
  const wrong: string[] = [];
  for (const file of files) {
    const { checked, document } = await checkPolicyFile(file, runTests);
    wrong.push(...checked.diagnostics.map((each) => findingLine(file, "error", each)));
    if (document !== null)
      found.push({ file, document, warnings: checked.warnings.map((each) => findingLine(file, "warning", each)) });
  }
  if (wrong.length > 0) throw new CommandFailed(`the documents have errors\n${wrong.join("\n")}`);
  return found;
}
