/** Policy documents in files, for commands that send them to a service. */
import type { PolicyDocument } from "@countersign/core";
import { CommandFailed } from "./command-failed.ts";
import { findingLine } from "./policy-finding.ts";
import { readTextFile } from "./text-file.ts";

/** A document without errors, and where it stands. */
export interface PolicyFile {
  readonly file: string;
  readonly document: PolicyDocument;
  /** What is allowed, and hardly meant; a line each. */
  readonly warnings: readonly string[];
}

/**
 * The documents of all files; with `tests`, the cases beside each have to be green. Throws CommandFailed with every error at
 * its line and column.
 */
export async function readPolicyFiles(
  files: readonly string[],
  { tests = false }: { readonly tests?: boolean } = {},
): Promise<PolicyFile[]> {
  // Loaded here, so that the help needs none of it.
  const { checkPolicy, redTestDiagnostics, runPolicyTests } = await import("@countersign/server");
  const found: PolicyFile[] = [];
  const wrong: string[] = [];
  for (const file of files) {
    const text = await readTextFile(file);
    const { document, diagnostics, warnings } = checkPolicy(text);
    if (document !== null)
      found.push({ file, document, warnings: warnings.map((each) => findingLine(file, "warning", each)) });
    const red = document === null || !tests ? [] : redTestDiagnostics(runPolicyTests(document), text);
    wrong.push(...[...diagnostics, ...red].map((each) => findingLine(file, "error", each)));
  }
  if (wrong.length > 0) throw new CommandFailed(`the documents have errors\n${wrong.join("\n")}`);
  return found;
}
