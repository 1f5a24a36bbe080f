/** API key format: `svc_<environment>_<scope>_<32 random characters><6 characters of checksum>`. */
import { hash, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";
import { limits } from "@countersign/contract";

/** Only the stored key grants rights. */
export interface ApiKeyText {
  readonly environment: "live" | "shadow" | "test";
  /** Issued today: `org` and `agent`. Other words are accepted, so scanners keep working with future keys. */
  readonly scope: string;
}

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const checksumLength = limits.api_key_checksum_chars;

/** Unambiguous, because none of the parts contains `_`. */
const keyText = /^svc_(live|shadow|test)_([a-z]{1,16})_([0-9A-Za-z]{38,128})$/;
const secretText = /^[0-9A-Za-z]{32,122}$/;

/**
 * Builds a key from `secret`: 32 or more random base-62 characters (about 190 bits). Source: spec §2.2 and §8 rule 11.
 */
export function newApiKey(environment: ApiKeyText["environment"], scope: "org" | "agent", secret: string): string {
  if (!secretText.test(secret)) throw new TypeError("the secret part of a key is 32 or more base-62 characters");
  const body = `svc_${environment}_${scope}_${secret}`;
  return body + checksum(body);
}

/**
 * Returns null for a wrong form or checksum. Needs no database, so scanners recognize leaked keys and typing errors
 * cost no query.
 */
export function parseApiKey(text: string): ApiKeyText | null {
  const parts = keyText.exec(text);
  if (parts === null) return null;
  const bodyLength = text.length - checksumLength;
  // Not in constant time, because the checksum is no secret.
  if (checksum(text.slice(0, bodyLength)) !== text.slice(bodyLength)) return null;
  return { environment: parts[1] as ApiKeyText["environment"], scope: parts[2] as string };
}

/**
 * The only stored form of a key. A fast hash is safe for 190 random bits; a slow one would let invalid keys exhaust the
 * CPU.
 */
export function hashApiKey(text: string): Buffer {
  return hash("sha256", text, "buffer");
}

/** Base64 is three times faster than a buffer. Used for the key cache. */
export function hashApiKeyText(text: string): string {
  return hash("sha256", text, "base64");
}

/** Lengths are no secret. */
export function equalInConstantTime(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}

/** CRC-32 (IEEE) in base 62, padded left with 0. */
function checksum(body: string): string {
  let rest = crc32(body);
  let out = "";
  for (let place = 0; place < checksumLength; place++) {
    out = digits.charAt(rest % 62) + out;
    rest = Math.floor(rest / 62);
  }
  return out;
}
