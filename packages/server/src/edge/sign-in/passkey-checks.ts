/** WebAuthn by @simplewebauthn/server, loaded when a passkey is first used: it costs a tenth of a second. */
import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import type { KnownPasskey, PasskeyChecks } from "../../sign-in-ports.ts";

const service_name = "Countersign";
const answer_within_ms = 300_000;
/** WebAuthn Level 3, section 7.1. Longer ones would fit neither in an answer nor in the path that deletes them. */
const credential_id_bytes_max = 1_023;

const library = () => import("@simplewebauthn/server");

/** Browsers answer with the challenge's bytes in base64url. */
const encoded = (challenge: string) => Buffer.from(challenge).toString("base64url");

/** The checks of one process. */
export function createPasskeyChecks(): PasskeyChecks {
  return {
    async registrationOptions({ host }, { user_id, email }, challenge, known) {
      const { generateRegistrationOptions } = await library();
      const options = await generateRegistrationOptions({
        rpName: service_name,
        rpID: host,
        userName: email,
        userDisplayName: email,
        userID: new Uint8Array(Buffer.from(user_id)),
        challenge,
        timeout: answer_within_ms,
        attestationType: "none",
        excludeCredentials: known.map(descriptor),
        // It stands for name, password and second factor, so it has to know its user by itself.
        authenticatorSelection: { residentKey: "required", userVerification: "required" },
      });
      return { ...options };
    },

    async registered({ origin, host }, challenge, credential) {
      const { verifyRegistrationResponse } = await library();
      try {
        const response = credential as RegistrationResponseJSON;
        if (isFramed(response) || !(await isUnattested(response))) return null;
        const { verified, registrationInfo } = await verifyRegistrationResponse({
          response,
          expectedChallenge: encoded(challenge),
          expectedOrigin: origin,
          expectedRPID: host,
          requireUserVerification: true,
        });
        if (!verified) return null;
        const { id, publicKey, counter } = registrationInfo.credential;
        if (Buffer.from(id, "base64url").length > credential_id_bytes_max) return null;
        const transports = transportsOf(response.response.transports);
        return { passkey_id: id, public_key: Buffer.from(publicKey), counter, transports };
      } catch {
        // The library throws for whatever does not hold, and for what is not a credential at all.
        return null;
      }
    },

    async loginOptions({ host }, challenge) {
      const { generateAuthenticationOptions } = await library();
      const options = await generateAuthenticationOptions({
        rpID: host,
        challenge,
        timeout: answer_within_ms,
        userVerification: "required",
      });
      return { ...options };
    },

    async usedBy({ origin, host }, challenge, credential, { passkey_id, public_key, counter, transports }) {
      const { verifyAuthenticationResponse } = await library();
      try {
        const response = credential as AuthenticationResponseJSON;
        if (isFramed(response)) return null;
        const { verified, authenticationInfo } = await verifyAuthenticationResponse({
          response,
          expectedChallenge: encoded(challenge),
          expectedOrigin: origin,
          expectedRPID: host,
          credential: {
            id: passkey_id,
            publicKey: new Uint8Array(public_key),
            counter,
            transports: [...transports] as AuthenticatorTransport[],
          },
          requireUserVerification: true,
        });
        return verified ? authenticationInfo.newCounter : null;
      } catch {
        return null;
      }
    },
  };
}

/** Whether the page stood in a frame of somebody else's: ours are in none. The library looks at logins only, and not at all of them. */
function isFramed({ response }: { readonly response: { readonly clientDataJSON: string } }): boolean {
  const data: unknown = JSON.parse(Buffer.from(response.clientDataJSON, "base64url").toString("utf8"));
  const { crossOrigin = false, topOrigin } = data as { readonly crossOrigin?: unknown; readonly topOrigin?: unknown };
  return crossOrigin !== false || topOrigin !== undefined;
}

/**
 * Whether nothing but the key itself speaks for the passkey, which is all that was asked for. Certificates of makers are
 * refused unread: the library would fetch lists of revoked ones from addresses that stand in them.
 */
async function isUnattested({ response }: RegistrationResponseJSON): Promise<boolean> {
  const { decodeAttestationObject } = await import("@simplewebauthn/server/helpers");
  const object = decodeAttestationObject(new Uint8Array(Buffer.from(response.attestationObject, "base64url")));
  const format = object.get("fmt");
  return format === "none" || (format === "packed" && object.get("attStmt").get("x5c") === undefined);
}

function descriptor({ passkey_id, transports }: Pick<KnownPasskey, "passkey_id" | "transports">) {
  return { id: passkey_id, transports: [...transports] };
}

const transport_names: ReadonlySet<string> = new Set([
  "ble",
  "cable",
  "hybrid",
  "internal",
  "nfc",
  "smart-card",
  "usb",
]);

/** What the browser says about itself is kept only where it is one of the names there are. */
function transportsOf(given: unknown): string[] {
  return Array.isArray(given) ? [...new Set(given.filter((each) => transport_names.has(each)))] : [];
}
