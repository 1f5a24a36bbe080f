/** Signs notes as a log and as a witness do (C2SP signed-note, tlog-cosignature), with keys that a seed gives. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";

export interface Signer {
  readonly verifier_key: string;
  /** Returns the line of a signature over the body. `seconds` is the time of a witness. */
  readonly line: (body: string, seconds?: number) => string;
}

const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex");

export const sha256 = (...parts: readonly (string | Uint8Array)[]): Buffer => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};

function keyOf(seed: string): KeyObject {
  return createPrivateKey({ key: Buffer.concat([pkcs8Prefix, sha256(seed)]), format: "der", type: "pkcs8" });
}

function signerOf(name: string, seed: string, type: number, signed: (body: string, seconds: number) => Buffer): Signer {
  const public_key = createPublicKey(keyOf(seed)).export({ format: "der", type: "spki" }).subarray(-32);
  const typed = Buffer.concat([Buffer.of(type), public_key]);
  const id = sha256(`${name}\n`, typed).subarray(0, 4);
  return {
    verifier_key: `${name}+${id.toString("hex")}+${typed.toString("base64")}`,
    line: (body, seconds = 0) => `— ${name} ${Buffer.concat([id, signed(body, seconds)]).toString("base64")}\n`,
  };
}

export function logSigner(name: string, seed: string): Signer {
  const key = keyOf(seed);
  return signerOf(name, seed, 1, (body) => sign(null, Buffer.from(body), key));
}

export function witnessSigner(name: string, seed: string): Signer {
  const key = keyOf(seed);
  return signerOf(name, seed, 4, (body, seconds) => {
    const time = Buffer.alloc(8);
    time.writeBigUInt64BE(BigInt(seconds));
    return Buffer.concat([time, sign(null, Buffer.from(`cosignature/v1\ntime ${seconds}\n${body}`), key)]);
  });
}
