import { createPublicKey, type JsonWebKey } from "node:crypto";
import { limits } from "@countersign/contract";
import { Fault, type FaultDetail } from "@countersign/core";
import type { JSONWebKeySet } from "jose";

/** Members of private and symmetric keys only (RFC 7518 §6). */
const secretMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] as const;
const publicTypes: ReadonlySet<unknown> = new Set(["RSA", "EC", "OKP"]);
const modulus_bits_min = 2_048;

function keyProblem(key: unknown): string | null {
  if (typeof key !== "object" || key === null) return "A key is a JSON object.";
  const given = key as Readonly<Record<string, unknown>>;
  if (secretMembers.some((member) => Object.hasOwn(given, member)))
    return "This key is private or symmetric. Give the public key only, and replace the pair, because it was sent.";
  if (!publicTypes.has(given["kty"])) return "Give a key of the type RSA, EC or OKP.";
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key: given as JsonWebKey, format: "jwk" });
    if ((asymmetricKeyDetails?.modulusLength ?? modulus_bits_min) >= modulus_bits_min) return null;
    return `An RSA key has at least ${modulus_bits_min} bits.`;
  } catch {
    return "This is not a public key that can be read as a JSON Web Key.";
  }
}

/** Refuses a pasted key set that is too large or has a non-public key. Faults: invalid_request naming each key. */
export function refuseUnfitKeys(jwks: Readonly<Record<string, unknown>>): void {
  const { keys } = jwks as { readonly keys?: unknown };
  const details: FaultDetail[] = [];
  const refuse = (path: string, message: string) => details.push({ path, code: "not_allowed", message });
  if (Buffer.byteLength(JSON.stringify(jwks)) > limits.jwks_bytes_max)
    refuse("/jwks", `A key set has at most ${limits.jwks_bytes_max} bytes.`);
  else if (!Array.isArray(keys) || keys.length === 0 || keys.length > limits.jwks_keys_max)
    refuse("/jwks/keys", `A key set has 1 to ${limits.jwks_keys_max} keys.`);
  else
    for (const [index, key] of keys.entries()) {
      const problem = keyProblem(key);
      if (problem !== null) refuse(`/jwks/keys/${index}`, problem);
    }
  if (details.length > 0) throw new Fault("invalid_request", { details });
}

/**
 * Returns the public keys of a fetched set. Skips others, because providers publish keys for other uses. Null: not a
 * key set.
 */
export function fetchedKeys(text: string): JSONWebKeySet | null {
  try {
    const { keys } = JSON.parse(text) as { readonly keys?: unknown };
    if (!Array.isArray(keys) || keys.length > limits.jwks_keys_max) return null;
    return { keys: keys.filter((key) => keyProblem(key) === null) };
  } catch {
    return null;
  }
}
