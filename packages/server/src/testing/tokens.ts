import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";

export async function tokenKey(kid: string, alg = "ES256") {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid, alg };
  /** `kid` null: the header names no key. */
  const sign = (claims: JWTPayload, header: { readonly kid?: string | null; readonly alg?: string } = {}) => {
    const { kid: named = kid, alg: named_alg = alg } = header;
    return new SignJWT(claims)
      .setProtectedHeader({ alg: named_alg, ...(named === null ? {} : { kid: named }) })
      .sign(privateKey);
  };
  return { jwk, sign, private_jwk: await exportJWK(privateKey) };
}

/** Signs with a secret, which is forbidden. */
export function symmetricToken(claims: JWTPayload, secret: string): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(new TextEncoder().encode(secret));
}
