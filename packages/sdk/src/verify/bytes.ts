const encoder = new TextEncoder();

export type Bytes = Uint8Array<ArrayBuffer>;

export function utf8(text: string): Bytes {
  return encoder.encode(text);
}

function concatenated(...parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

interface NodeCrypto {
  createHash(name: "sha256"): { update(bytes: Uint8Array): { digest(): Uint8Array } };
}

const { process: node } = globalThis as { readonly process?: { getBuiltinModule?(name: string): unknown } };
const nodeCrypto = node?.getBuiltinModule?.("node:crypto") as NodeCrypto | undefined;

/** Uses Node's own hash where there is one: WebCrypto takes nine times as long for short inputs. */
export async function sha256(...parts: readonly Uint8Array[]): Promise<Bytes> {
  const whole = concatenated(...parts);
  if (nodeCrypto !== undefined) return new Uint8Array(nodeCrypto.createHash("sha256").update(whole).digest());
  return new Uint8Array(await crypto.subtle.digest("SHA-256", whole));
}

export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function same(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

/** Decodes standard Base64 (RFC 4648). Undefined: not the one text of these bytes. */
export function base64Bytes(text: string): Bytes | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const binary = atob(text);
  return btoa(binary) === text ? Uint8Array.from(binary, (char) => char.charCodeAt(0)) : undefined;
}

/** Returns the 32 bytes of a hash in Base64, or undefined. */
export function base64Hash(text: string): Bytes | undefined {
  const bytes = base64Bytes(text);
  return bytes?.length === 32 ? bytes : undefined;
}
