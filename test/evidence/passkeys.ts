/** Passkeys whose keys and signatures follow from a seed, so that vectors stay the same. Made without code of the product. */
import { checkPrimeSync, createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import { sha256 } from "./signing.ts";

export interface MadePasskey {
  readonly credential_id: string;
  /** COSE, in hex. */
  readonly public_key: string;
  readonly signed: (message: Buffer) => Buffer;
}

const base64url = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString("base64url");
const numberOf = (bytes: Buffer): bigint => BigInt(`0x${bytes.toString("hex")}`);
const bytesOf = (number: bigint, length: number): Buffer =>
  Buffer.from(number.toString(16).padStart(length * 2, "0"), "hex");

/** A CBOR map of small integers to integers and byte strings. */
function cose(members: readonly (readonly [number, number | Buffer])[]): string {
  const head = (major: number, number: number): number[] => {
    if (number < 24) return [major * 32 + number];
    return number < 256 ? [major * 32 + 24, number] : [major * 32 + 25, number >> 8, number & 255];
  };
  const integer = (number: number) => (number < 0 ? head(1, -1 - number) : head(0, number));
  const value = (of: number | Buffer) => (typeof of === "number" ? integer(of) : [...head(2, of.length), ...of]);
  return Buffer.from([
    ...head(5, members.length),
    ...members.flatMap(([name, of]) => [...integer(name), ...value(of)]),
  ]).toString("hex");
}

const passkey = (seed: string, public_key: string, signed: MadePasskey["signed"]): MadePasskey => {
  return { credential_id: base64url(sha256(`passkey ${seed}`)), public_key, signed };
};

const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex");

export function edPasskey(seed: string): MadePasskey {
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, sha256(seed)]), format: "der", type: "pkcs8" });
  const x = createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32);
  const public_key = cose([
    [1, 1],
    [3, -8],
    [-1, 6],
    [-2, x],
  ]);
  return passkey(seed, public_key, (message) => sign(null, message, key));
}

// NIST P-256 (FIPS 186-5). Node's own ECDSA takes a random nonce, so its signatures differ each time.
const p = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const base: Point = [
  0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296n,
  0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5n,
];
type Point = readonly [bigint, bigint];

const modulo = (value: bigint, by: bigint): bigint => ((value % by) + by) % by;

function power(value: bigint, exponent: bigint, by: bigint): bigint {
  let [result, square] = [1n, modulo(value, by)];
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % by;
    square = (square * square) % by;
  }
  return result;
}

const inverse = (value: bigint, by: bigint): bigint => power(value, by - 2n, by);

function sum(one: Point | null, other: Point | null): Point | null {
  if (one === null || other === null) return one ?? other;
  const [[x1, y1], [x2, y2]] = [one, other];
  if (x1 === x2 && modulo(y1 + y2, p) === 0n) return null;
  const slope = x1 === x2 ? (3n * x1 * x1 - 3n) * inverse(2n * y1, p) : (y2 - y1) * inverse(x2 - x1, p);
  const x = modulo(slope * slope - x1 - x2, p);
  return [x, modulo(slope * (x1 - x) - y1, p)];
}

function times(factor: bigint): Point {
  let [result, double]: [Point | null, Point | null] = [null, base];
  for (let rest = factor; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = sum(result, double);
    double = sum(double, double);
  }
  return result as Point;
}

function derInteger(number: bigint): Buffer {
  const hex = number.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
  const value = (bytes[0] as number) >= 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes;
  return Buffer.concat([Buffer.of(2, value.length), value]);
}

export function esPasskey(seed: string): MadePasskey {
  const secret = modulo(numberOf(sha256(seed)), order);
  const [x, y] = times(secret);
  const public_key = cose([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, bytesOf(x, 32)],
    [-3, bytesOf(y, 32)],
  ]);
  return passkey(seed, public_key, (message) => {
    const nonce = modulo(numberOf(sha256(seed, "nonce", message)), order);
    const r = modulo(times(nonce)[0], order);
    const s = modulo(inverse(nonce, order) * (numberOf(sha256(message)) + r * secret), order);
    const integers = Buffer.concat([derInteger(r), derInteger(s)]);
    return Buffer.concat([Buffer.of(0x30, integers.length), integers]);
  });
}

const exponent = 65_537n;

function primeAfter(seed: string): bigint {
  const digits = Array.from({ length: 4 }, (_, part) => sha256(seed, `prime ${part}`));
  let number = numberOf(Buffer.concat(digits)) | (3n << 1022n) | 1n;
  while (!checkPrimeSync(number) || number % exponent === 1n) number += 2n;
  return number;
}

function rsaKey(seed: string): { readonly key: KeyObject; readonly n: bigint } {
  const [one, other] = [primeAfter(`${seed} p`), primeAfter(`${seed} q`)];
  const phi = (one - 1n) * (other - 1n);
  // The inverse by Euler, because 65537 is prime: d = (1 + k φ) / e.
  const k = modulo(-power(phi, exponent - 2n, exponent), exponent);
  const d = (1n + k * phi) / exponent;
  const text = (number: bigint) => base64url(bytesOf(number, Math.ceil(number.toString(16).length / 2)));
  const private_parts = { d, p: one, q: other, dp: d % (one - 1n), dq: d % (other - 1n), qi: inverse(other, one) };
  const parts = { n: one * other, e: exponent, ...private_parts };
  const jwk = Object.fromEntries(Object.entries(parts).map(([name, number]) => [name, text(number)]));
  return { key: createPrivateKey({ key: { kty: "RSA", ...jwk }, format: "jwk" }), n: one * other };
}

export function rsaPasskey(seed: string): MadePasskey {
  const { key, n } = rsaKey(seed);
  const public_key = cose([
    [1, 3],
    [3, -257],
    [-1, bytesOf(n, 256)],
    [-2, Buffer.of(1, 0, 1)],
  ]);
  return passkey(seed, public_key, (message) => sign("sha256", message, key));
}

export interface MadeAssertion {
  readonly authenticator_data: string;
  readonly client_data_json: string;
  readonly credential_id: string;
  readonly signature: string;
}

/** How an assertion differs from that of an honest device at the service's page. */
export interface Lies {
  readonly flags?: number;
  readonly host?: string;
  readonly client?: object;
}

/** Signs a ruling as a browser and its device do. */
export function assertionOf(
  made: MadePasskey,
  ruling: string,
  { flags = 5, host = "console.example", client = {} }: Lies = {},
): MadeAssertion {
  const honest = { type: "webauthn.get", challenge: base64url(sha256(ruling)), origin: "https://console.example" };
  const client_data = Buffer.from(JSON.stringify({ ...honest, crossOrigin: false, ...client }));
  const data = Buffer.concat([sha256(host), Buffer.of(flags, 0, 0, 0, 7)]);
  return {
    authenticator_data: base64url(data),
    client_data_json: base64url(client_data),
    credential_id: made.credential_id,
    signature: base64url(made.signed(Buffer.concat([data, sha256(client_data)]))),
  };
}
