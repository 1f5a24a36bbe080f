import { canonicalJson } from "../values/canonical-json.ts";
import { sha256Hex } from "../values/fingerprint.ts";
import type { PolicyDocument } from "./document.ts";

/** The SHA-256 of a document in canonical form; two spellings of one document have the same. */
export function policySha256(document: PolicyDocument): string {
  return sha256Hex(canonicalJson(document));
}
