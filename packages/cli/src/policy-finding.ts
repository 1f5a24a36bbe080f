import type { PolicyDiagnostic } from "@countersign/core";
import { visible } from "./visible.ts";

/** Escapes control characters, because the document may be from a stranger. */
export function findingLine(file: string, kind: "error" | "warning", finding: PolicyDiagnostic): string {
  const { line, column, code, message, help } = finding;
  const place = line === null ? "" : `:${line}:${column ?? 1}`;
  return visible(`${file}${place}: ${kind} ${code}: ${message}${help === null ? "" : ` ${help}`}`);
}
