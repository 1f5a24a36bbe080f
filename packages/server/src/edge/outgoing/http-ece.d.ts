/** The part of the library that this program uses. */
declare module "http_ece" {
  import type { ECDH } from "node:crypto";

  export function encrypt(
    body: Buffer,
    params: {
      readonly version: "aes128gcm";
      /** The receiver's public key, base64url. */
      readonly dh: string;
      readonly privateKey: ECDH;
      readonly salt: Buffer;
      /** Base64url. */
      readonly authSecret: string;
    },
  ): Buffer;
}
