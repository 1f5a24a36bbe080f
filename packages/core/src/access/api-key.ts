/** The text of an API key: `svc_<environment>_<scope>_<32 random characters><6 characters of checksum>`. */
import { hash, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";
import { limits } from "@countersign/contract";

/** What a key text says about itself. Only the stored key says what it may do. */
export interface ApiKeyText {
  readonly environment: "live" | "shadow" | "test";
  /** `org` and `agent` are issued today; other words are read, so that scanners built on this stay right. */
  readonly scope: string;
}

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const checksumLength = limits.api_key_checksum_chars;

/** Read from the left: the environment and scope are known words without `_`, the random part has no `_`. */
const keyText = /^svc_(live|shadow|test)_([a-z]{1,16})_([0-9A-Za-z]{38,128})$/;
const secretText = /^[0-9A-Za-z]{32,122}$/;

/**
 * The text of a new key around `secret`, 32 or more random base-62 characters (about 190 bits).
 * Source: contract §2.2 and §8 rule 11, api.md §3.
 */
export function newApiKey(environment: ApiKeyText["environment"], scope: "org" | "agent", secret: string): string {
  if (!secretText.test(secret)) throw new TypeError("the secret part of a key is 32 or more base-62 characters");
  const body = `svc_${environment}_${scope}_${secret}`;
  return body + checksum(body);
}

/**
 * What a presented text says about itself, or null when it cannot be a key of ours: wrong form, or a checksum that does
 * not fit. Needs no database, so a scanner can tell a leaked key and a typing error costs no query.
 */
export function parseApiKey(text: string): ApiKeyText | null {
  const parts = keyText.exec(text);
  if (parts === null) return null;
  const bodyLength = text.length - checksumLength;
  // No constant time: the checksum is no secret, it follows from what the caller sent.
  if (checksum(text.slice(0, bodyLength)) !== text.slice(bodyLength)) return null;
  return { environment: parts[1] as ApiKeyText["environment"], scope: parts[2] as string };
}

/**
 * SHA-256 of a key, the only form in which keys are stored. A fast hash is right here: 190 random bits cannot be
 * guessed, and a slow one would let anybody spend our processor with invalid keys.
 */
export function hashApiKey(text: string): Buffer {
  return hash("sha256", text, "buffer");
}

/** The same as base64, which Node makes in a third of the time of a buffer: by it a node knows a key again, at every request. */
export function hashApiKeyText(text: string): string {
  return hash("sha256", text, "base64");
}

/** True when both are the same bytes; takes the same time whatever differs. Lengths are no secret. */
export function equalInConstantTime(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}

/** CRC-32 (IEEE) of the text in base 62, 0-9A-Za-z, padded with 0 on the left. */
function checksum(body: string): string {
  let rest = crc32(body);
  let out = "";
  for (let place = 0; place < checksumLength; place++) {
    out = digits.charAt(rest % 62) + out;
    rest = Math.floor(rest / 62);
  }
  return out;
}
