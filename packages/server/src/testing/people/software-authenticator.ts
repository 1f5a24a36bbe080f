/** Creates and uses passkeys as a browser does, with lies. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isoCBOR } from "@simplewebauthn/server/helpers";

export interface Lies {
  readonly origin?: string;
  /** Default true. */
  readonly user_verified?: boolean;
  readonly counter?: number;
  readonly challenge?: string;
  /** The page around the frame of `origin`. Null: a frame whose page the browser does not report. */
  readonly framed_by?: string | null;
  readonly credential_id?: string;
  readonly user_handle?: string;
  readonly attestation?: { readonly fmt: string; readonly statement: Map<string, unknown> };
}

/** In the browsers' JSON form. */
export interface Credential {
  readonly id: string;
  readonly rawId: string;
  readonly type: "public-key";
  readonly clientExtensionResults: object;
  readonly response: Readonly<Record<string, unknown>>;
}

interface CreationOptions {
  readonly rp: { readonly id: string };
  readonly user: { readonly id: string };
  readonly challenge: string;
}

interface RequestOptions {
  readonly rpId: string;
  readonly challenge: string;
}

interface Made {
  readonly key: KeyObject;
  readonly user_handle: string;
  counter: number;
}

const base64url = (bytes: Uint8Array | string) => Buffer.from(bytes).toString("base64url");
const sha256 = (data: Uint8Array | string) => createHash("sha256").update(data).digest();

export function softwareAuthenticator(home: string) {
  const made = new Map<string, Made>();

  function clientData(type: string, asked: string, { challenge = asked, origin = home, framed_by }: Lies): Buffer {
    const crossOrigin = framed_by !== undefined;
    return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin, topOrigin: framed_by ?? undefined }));
  }

  /** Flags: user present, user verified, attested credential data. */
  function authenticatorData(host: string, verified: boolean, counter: number, attested: Uint8Array | null): Buffer {
    const flags = 0x01 | (verified ? 0x04 : 0) | (attested === null ? 0 : 0x40);
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter);
    return Buffer.concat([sha256(host), Buffer.from([flags]), count, attested ?? Buffer.alloc(0)]);
  }

  return {
    create(given: object, lies: Lies = {}): Credential {
      const options = given as CreationOptions;
      const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const { x, y } = publicKey.export({ format: "jwk" });
      const id = lies.credential_id === undefined ? randomBytes(32) : Buffer.from(lies.credential_id, "base64url");
      const coordinate = (text: string | undefined) => new Uint8Array(Buffer.from(text as string, "base64url"));
      const cose = new Map<number, unknown>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, coordinate(x)],
        [-3, coordinate(y)],
      ]);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(id.length);
      const attested = Buffer.concat([Buffer.alloc(16), length, id, isoCBOR.encode(cose as never)]);
      const counter = lies.counter ?? 1;
      made.set(base64url(id), { key: privateKey, user_handle: options.user.id, counter });
      const authData = authenticatorData(options.rp.id, lies.user_verified ?? true, counter, attested);
      const { fmt, statement } = lies.attestation ?? { fmt: "none", statement: new Map() };
      const object = new Map<string, unknown>([
        ["fmt", fmt],
        ["attStmt", statement],
        ["authData", new Uint8Array(authData)],
      ]);
      return {
        id: base64url(id),
        rawId: base64url(id),
        type: "public-key",
        clientExtensionResults: {},
        response: {
          clientDataJSON: base64url(clientData("webauthn.create", options.challenge, lies)),
          attestationObject: base64url(isoCBOR.encode(object as never)),
          transports: ["internal", "not-a-transport"],
        },
      };
    },

    /** Uses the newest passkey. */
    get(given: object, lies: Lies = {}): Credential {
      const options = given as RequestOptions;
      const [id, passkey] = [...made].at(-1) as [string, Made];
      passkey.counter = lies.counter ?? passkey.counter + 1;
      const data = clientData("webauthn.get", options.challenge, lies);
      const authData = authenticatorData(options.rpId, lies.user_verified ?? true, passkey.counter, null);
      return {
        id,
        rawId: id,
        type: "public-key",
        clientExtensionResults: {},
        response: {
          clientDataJSON: base64url(data),
          authenticatorData: base64url(authData),
          signature: base64url(sign("sha256", Buffer.concat([authData, sha256(data)]), passkey.key)),
          userHandle: lies.user_handle ?? passkey.user_handle,
        },
      };
    },
  };
}
