import { limits } from "@countersign/contract";
import type { PolicyDocument } from "../document.ts";
import { policySchema } from "../schema.ts";
import { type PolicyDiagnostic, readSource, type SourceDocument } from "../source.ts";
import { checkStructure } from "./check-structure.ts";
import { readObject } from "./object-places.ts";
import { readablePart } from "./readable-part.ts";
import { checkSchema } from "./schema-check.ts";

/** A policy document as far as it could be read. */
export interface ParsedPolicy {
  /** Null when anything was wrong with its form. */
  readonly document: PolicyDocument | null;
  /** The part of it whose expressions can be checked all the same: the document itself, where its form is right. Null: nothing. */
  readonly readable: PolicyDocument | null;
  readonly diagnostics: readonly PolicyDiagnostic[];
  readonly source: SourceDocument;
}

/**
 * Reads a policy document, YAML or JSON text or an object that came as JSON, and checks everything but its expressions.
 * Returns all problems at once and never throws. An object is placed as its JSON text with two spaces of indentation.
 * Source: policies.md §2; api.md §10.
 */
export function parsePolicy(input: string | Readonly<Record<string, unknown>>): ParsedPolicy {
  const bytes = Buffer.byteLength(typeof input === "string" ? input : JSON.stringify(input), "utf8");
  if (bytes > limits.policy_document_bytes_max) {
    const source = readSource("");
    const message = `The document has ${bytes} bytes; at most ${limits.policy_document_bytes_max} are allowed.`;
    const help = "Split it into several policies, or move test cases elsewhere.";
    return unreadable(source, [source.at("", { code: "too_long", message, help })]);
  }
  const source = typeof input === "string" ? readSource(input) : readObject(input);
  if (source.diagnostics.length > 0) return unreadable(source, source.diagnostics);
  const wrong = checkSchema(source, policySchema);
  if (wrong.length === 0) {
    const readable = source.value as PolicyDocument;
    const diagnostics = checkStructure(readable, source, true);
    return { document: diagnostics.length > 0 ? null : readable, readable, diagnostics, source };
  }
  const part = readablePart(source);
  if (part === null) return unreadable(source, wrong);
  const diagnostics = [...wrong, ...checkStructure(part.document, source, part.spec_fits)];
  return { document: null, readable: part.variables_fit ? part.document : null, diagnostics, source };
}

function unreadable(source: SourceDocument, diagnostics: readonly PolicyDiagnostic[]): ParsedPolicy {
  return { document: null, readable: null, diagnostics, source };
}
