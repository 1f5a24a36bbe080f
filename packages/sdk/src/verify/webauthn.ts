/** Verifies what a passkey signed (WebAuthn Level 3), with the key in its COSE form (RFC 9052). */
import { type Bytes, base64Bytes, same, sha256, utf8 } from "./bytes.ts";
import { type JsonObject, parsedObject } from "./json.ts";
import { isSigned } from "./note.ts";

export interface Assertion {
  /** COSE. */
  readonly public_key: Bytes;
  readonly authenticator_data: Bytes;
  readonly client_data_json: Bytes;
  readonly signature: Bytes;
  readonly challenge: Bytes;
}

const user_present = 1;
const user_verified = 4;
/** Hash of the site, flags, count. */
const authenticator_data_bytes_min = 37;

/** Returns the page's origin, or the reason why the passkey did not sign the challenge for its site. */
export async function verifiedAssertion(
  assertion: Assertion,
): Promise<{ readonly origin: string } | { readonly wrong: string }> {
  const { public_key, authenticator_data, client_data_json, signature, challenge } = assertion;
  const client = parsedObject(textOf(client_data_json)) ?? {};
  if (client["type"] !== "webauthn.get") return { wrong: "its client data is not of a signature" };
  const asked = base64UrlBytes(client["challenge"]);
  if (asked === undefined || !same(asked, challenge)) return { wrong: "it signs another ruling" };
  const site = siteOf(client);
  if (site === undefined) return { wrong: "its client data has no origin of a page of its own" };
  if (
    authenticator_data.length < authenticator_data_bytes_min ||
    !same(authenticator_data.slice(0, 32), await sha256(utf8(site.host)))
  )
    return { wrong: "it is of another site than its origin" };
  const flags = authenticator_data[32] ?? 0;
  if (flags % 2 !== user_present || Math.floor(flags / user_verified) % 2 === 0)
    return { wrong: "the passkey did not verify its user" };
  const message = new Uint8Array([...authenticator_data, ...(await sha256(client_data_json))]);
  if (!(await isSignedWith(public_key, signature, message))) return { wrong: "the signature does not match" };
  return { origin: site.origin };
}

function textOf(bytes: Bytes): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return "";
  }
}

/** Undefined: not an origin with a name, or another site framed the page. */
function siteOf({ origin, crossOrigin = false, topOrigin }: JsonObject): { origin: string; host: string } | undefined {
  if (typeof origin !== "string" || crossOrigin !== false || topOrigin !== undefined) return undefined;
  const [, host] = /^https?:\/\/([a-z0-9.-]{1,253})(?::[0-9]{1,5})?$/.exec(origin) ?? [];
  return host === undefined ? undefined : { origin, host };
}

/** Decodes base64url without padding. Undefined: not the one text of these bytes. */
export function base64UrlBytes(text: unknown): Bytes | undefined {
  if (typeof text !== "string" || !/^[A-Za-z0-9_-]*$/.test(text)) return undefined;
  const padded = text.replaceAll("-", "+").replaceAll("_", "/");
  return base64Bytes(padded.padEnd(Math.ceil(padded.length / 4) * 4, "="));
}

/** COSE: members of a key, and their values. */
const [kty, alg, crv, x, y] = [1, 3, -1, -2, -3] as const;
const [n, e] = [-1, -2] as const;
const [okp, ec2, rsa] = [1, 2, 3] as const;
const [es256, eddsa, rs256] = [-7, -8, -257] as const;
const [p256, ed25519] = [1, 6] as const;

/** False for a key of another algorithm, too. */
async function isSignedWith(public_key: Bytes, signature: Bytes, message: Bytes): Promise<boolean> {
  const key = coseKey(public_key);
  const bytes = (member: number): Bytes => {
    const value = key?.get(member);
    return typeof value === "object" ? value : new Uint8Array();
  };
  const is = (...values: readonly (readonly [number, number])[]) =>
    values.every(([member, value]) => key?.get(member) === value);
  if (is([kty, okp], [alg, eddsa], [crv, ed25519])) return isSigned(bytes(x), signature, message);
  if (is([kty, ec2], [alg, es256], [crv, p256])) {
    const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
    const point = new Uint8Array([4, ...bytes(x), ...bytes(y)]);
    const raw = rawSignature(signature);
    return raw !== undefined && isSignedBy(algorithm, () => imported("raw", point, algorithm), raw, message);
  }
  if (!is([kty, rsa], [alg, rs256])) return false;
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  const jwk = { kty: "RSA", n: base64Url(bytes(n)), e: base64Url(bytes(e)) };
  return isSignedBy(
    algorithm,
    () => crypto.subtle.importKey("jwk", jwk, algorithm, false, ["verify"]),
    signature,
    message,
  );
}

const imported = (format: "raw", key: Bytes, algorithm: { readonly name: string; readonly namedCurve: string }) =>
  crypto.subtle.importKey(format, key, algorithm, false, ["verify"]);

type ImportedKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

async function isSignedBy(
  algorithm: { readonly name: string; readonly hash: string },
  key: () => Promise<ImportedKey>,
  signature: Bytes,
  message: Bytes,
): Promise<boolean> {
  let imported_key: ImportedKey;
  try {
    imported_key = await key();
  } catch {
    // Not a key, such as a point that is not on the curve.
    return false;
  }
  return crypto.subtle.verify(algorithm, imported_key, signature, message);
}

function base64Url(bytes: Bytes): string {
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Returns a signature of ECDSA over P-256 as 64 bytes. Undefined: not a DER sequence of two positive integers. */
function rawSignature(der: Bytes): Bytes | undefined {
  const raw = new Uint8Array(64);
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return undefined;
  let at = 2;
  for (const end of [32, 64]) {
    const length = der[at + 1] ?? 0;
    const integer = der.slice(at + 2, at + 2 + length);
    const [first = 0x80, second = 0x80] = integer;
    // Negative, or longer than it must be.
    if (der[at] !== 0x02 || integer.length !== length || first >= 0x80 || (first === 0 && second < 0x80))
      return undefined;
    const value = first === 0 ? integer.slice(1) : integer;
    if (value.length > 32) return undefined;
    raw.set(value, end - value.length);
    at += 2 + length;
  }
  return at === der.length ? raw : undefined;
}

/** Reads a CBOR map of integers to integers and byte strings. Undefined: anything else. */
function coseKey(bytes: Bytes): ReadonlyMap<number, number | Bytes> | undefined {
  let at = 0;
  const next = (): number => bytes[at++] ?? Number.NaN;
  /** Returns the major type and the number after it. */
  const head = (): readonly [number, number] => {
    const first = next();
    const short = first % 32;
    if (short < 24) return [Math.floor(first / 32), short];
    if (short === 24) return [Math.floor(first / 32), next()];
    return [Math.floor(first / 32), short === 25 ? next() * 256 + next() : Number.NaN];
  };
  const item = (): number | Bytes | undefined => {
    const [major, number] = head();
    if (major === 0) return number;
    if (major === 1) return -1 - number;
    if (major !== 2 || !(at + number <= bytes.length)) return undefined;
    at += number;
    return bytes.slice(at - number, at);
  };
  const [major, size] = head();
  if (major !== 5 || !(size <= 16)) return undefined;
  const members = new Map<number, number | Bytes>();
  for (let each = 0; each < size; each += 1) {
    const [name, value] = [item(), item()];
    if (typeof name !== "number" || Number.isNaN(name) || value === undefined || members.has(name)) return undefined;
    members.set(name, value);
  }
  return at === bytes.length ? members : undefined;
}
