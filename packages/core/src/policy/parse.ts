import { limits } from "@countersign/contract";
import { checkStructure } from "./check-structure.ts";
import type { PolicyDocument } from "./document.ts";
import { readObject } from "./object-places.ts";
import { policySchema } from "./schema.ts";
import { checkSchema } from "./schema-check.ts";
import { type PolicyDiagnostic, readSource, type SourceDocument } from "./source.ts";

/** A policy document as far as it could be read. `document` is null when anything was wrong with its form. */
export interface ParsedPolicy {
  readonly document: PolicyDocument | null;
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
    return { document: null, diagnostics: [source.at("", { code: "too_long", message, help })], source };
  }
  const source = typeof input === "string" ? readSource(input) : readObject(input);
  if (source.diagnostics.length > 0) return { document: null, diagnostics: source.diagnostics, source };
  const wrong = checkSchema(source, policySchema);
  if (wrong.length > 0) return { document: null, diagnostics: wrong, source };
  const document = source.value as PolicyDocument;
  const diagnostics = checkStructure(document, source);
  return { document: diagnostics.length > 0 ? null : document, diagnostics, source };
}
