/** Requests to push services: RFC 8030 (protocol), RFC 8291 (encryption), RFC 8292 (VAPID). */
import { createECDH, randomBytes, webcrypto } from "node:crypto";
import { us_per_second } from "@countersign/core";
import { encrypt } from "http_ece";
import { importJWK, SignJWT } from "jose";
import type { Clock, PushRequests } from "../../ports.ts";

const curve = "prime256v1";
const salt_bytes = 16;
/** At most a day. */
const token_seconds = 12 * 3_600;

export function createPushRequests(clock: Clock): PushRequests {
  return {
    async newKeys() {
      const pair = await webcrypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
      const point = await webcrypto.subtle.exportKey("raw", pair.publicKey);
      const private_jwk = JSON.stringify(await webcrypto.subtle.exportKey("jwk", pair.privateKey));
      return { public_key: Buffer.from(point).toString("base64url"), private_jwk };
    },
    async build({ public_key, private_jwk, contact }, { endpoint, keys }, message, { ttl_seconds, urgency }) {
      const privateKey = createECDH(curve);
      privateKey.generateKeys();
      const terms = { version: "aes128gcm", dh: keys.p256dh, privateKey, salt: randomBytes(salt_bytes) } as const;
      const body = encrypt(Buffer.from(message), { ...terms, authSecret: keys.auth });
      const token = await new SignJWT({})
        .setProtectedHeader({ alg: "ES256", typ: "JWT" })
        .setAudience(new URL(endpoint).origin)
        .setExpirationTime(Math.floor(clock.now_us() / us_per_second) + token_seconds)
        .setSubject(contact)
        .sign(await importJWK(JSON.parse(private_jwk), "ES256"));
      const headers = {
        Authorization: `vapid t=${token}, k=${public_key}`,
        "Content-Encoding": "aes128gcm",
        "Content-Type": "application/octet-stream",
        TTL: String(ttl_seconds),
        Urgency: urgency,
      };
      return { headers, body };
    },
  };
}
