/** Avoids `crypto.randomUUID`, which is missing in pages over plain http from another machine. */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
