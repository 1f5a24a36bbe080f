/** What is found in policy documents, as lines at a terminal. */
import type { PolicyDiagnostic } from "@countersign/core";
import { visible } from "./visible.ts";

/** One finding at its line and column, without what would control a terminal: the document may be a stranger's. */
export function findingLine(file: string, kind: "error" | "warning", finding: PolicyDiagnostic): string {
  const { line, column, code, message, help } = finding;
  const place = line === null ? "" : `:${line}:${column ?? 1}`;
  return visible(`${file}${place}: ${kind} ${code}: ${message}${help === null ? "" : ` ${help}`}`);
}
