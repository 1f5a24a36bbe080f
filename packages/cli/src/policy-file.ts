/** Policy documents as files, and what is found in them as lines at a terminal. */
import { readFile } from "node:fs/promises";
import type { PolicyDiagnostic } from "@countersign/server";
import { unreadable } from "./file-fault.ts";
import { visible } from "./visible.ts";

/** The text of a document. Throws CommandFailed when the file cannot be read. */
export function readPolicyFile(file: string): Promise<string> {
  return readFile(file, "utf8").catch((error: unknown) => {
    throw unreadable(file, error);
  });
}

/** One finding at its line and column, without what would control a terminal: the document may be a stranger's. */
export function findingLine(file: string, kind: "error" | "warning", finding: PolicyDiagnostic): string {
  const { line, column, code, message, help } = finding;
  const place = line === null ? "" : `:${line}:${column ?? 1}`;
  return visible(`${file}${place}: ${kind} ${code}: ${message}${help === null ? "" : ` ${help}`}`);
}
