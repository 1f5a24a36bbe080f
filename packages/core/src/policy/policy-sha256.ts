import { canonicalJson } from "../values/canonical-json.ts";
import { sha256Hex } from "../values/fingerprint.ts";
import type { PolicyDocument } from "./document.ts";

/** SHA-256 of the canonical form, so spelling does not matter. */
export function policySha256(document: PolicyDocument): string {
  return sha256Hex(canonicalJson(document));
}
