import { limits } from "@countersign/contract";
import type { PolicyDocument } from "../document.ts";
import { locateObject } from "../locate-object.ts";
import { locateText } from "../locate-text.ts";
import { diagnose, type Located, type PolicyDiagnostic } from "../located.ts";
import { policySchema } from "../schema.ts";
import { checkStructure } from "./check-structure.ts";
import { readablePart } from "./readable-part.ts";
import { checkSchema } from "./schema-check.ts";

export interface ParsedPolicy {
  /** Null if malformed. */
  readonly document: PolicyDocument | null;
  /** The part whose expressions can be checked. */
  readonly readable: PolicyDocument | null;
  readonly diagnostics: readonly PolicyDiagnostic[];
  readonly located: Located;
}

/** Checks everything except expressions. Never throws. */
export function parsePolicy(input: string | Readonly<Record<string, unknown>>): ParsedPolicy {
  const bytes = Buffer.byteLength(typeof input === "string" ? input : JSON.stringify(input), "utf8");
  if (bytes > limits.policy_document_bytes_max) {
    const located = locateText("");
    const message = `The document has ${bytes} bytes; at most ${limits.policy_document_bytes_max} are allowed.`;
    const help = "Split it into several policies, or move test cases elsewhere.";
    return unreadable(located, [diagnose(located, "", { code: "too_long", message, help })]);
  }
  const located = typeof input === "string" ? locateText(input) : locateObject(input);
  if (located.diagnostics.length > 0) return unreadable(located, located.diagnostics);
  const wrong = checkSchema(located, policySchema);
  if (wrong.length === 0) {
    const readable = located.value as PolicyDocument;
    const diagnostics = checkStructure(readable, located, true);
    return { document: diagnostics.length > 0 ? null : readable, readable, diagnostics, located };
  }
  const part = readablePart(located);
  if (part === null) return unreadable(located, wrong);
  const diagnostics = [...wrong, ...checkStructure(part.document, located, part.spec_fits)];
  return { document: null, readable: part.variables_fit ? part.document : null, diagnostics, located };
}

function unreadable(located: Located, diagnostics: readonly PolicyDiagnostic[]): ParsedPolicy {
  return { document: null, readable: null, diagnostics, located };
}
