/**
 * Returns a new idempotency key. `crypto.randomUUID` is missing in pages that come by plain http from another machine.
 */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
