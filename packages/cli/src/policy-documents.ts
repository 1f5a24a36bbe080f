import type { PolicyDiagnostic, PolicyDocument } from "@countersign/core";
import { CommandFailed } from "./command-failed.ts";
import { findingLine } from "./policy-finding.ts";
import { readTextFile } from "./text-file.ts";

export interface CheckedFile {
  readonly file: string;
  readonly valid: boolean;
  /** Problems of form and expressions, and one for each failed test. */
  readonly diagnostics: readonly PolicyDiagnostic[];
  readonly warnings: readonly PolicyDiagnostic[];
  /** Absent unless tests were requested. A document with errors runs none. */
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

/** `document` is null if form or expressions have errors. */
export async function checkPolicyFile(
  file: string,
  runTests: boolean,
): Promise<{ readonly checked: CheckedFile; readonly document: PolicyDocument | null }> {
  // Loaded late, because the help does not need it.
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

export interface PolicyFile {
  readonly file: string;
  readonly document: PolicyDocument;
  /** One line for each valid but suspicious part. */
  readonly warnings: readonly string[];
}

/**
 * Returns the documents of all files. With `runTests`, all tests must pass. Throws CommandFailed with every error at
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
