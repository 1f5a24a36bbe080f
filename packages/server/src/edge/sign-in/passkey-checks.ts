/** Loaded at first use, because the library takes 0.1 s. */
import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import type { KnownPasskey, PasskeyChecks } from "../../sign-in-ports.ts";

const service_name = "Countersign";
const answer_within_ms = 300_000;
/** WebAuthn Level 3, section 7.1. */
const credential_id_bytes_max = 1_023;

const library = () => import("@simplewebauthn/server");

const encoded = (challenge: string | Buffer) =>
  (typeof challenge === "string" ? Buffer.from(challenge) : challenge).toString("base64url");

/** EdDSA, ES256 and RS256, as COSE numbers: those that verifiers of receipts know. */
const algorithms = [-8, -7, -257];

export function createPasskeyChecks(): PasskeyChecks {
  return { registrationOptions, registered, loginOptions, usedBy };
}

async function registrationOptions(
  ...[{ host }, { user_id, email }, challenge, known]: Parameters<PasskeyChecks["registrationOptions"]>
): ReturnType<PasskeyChecks["registrationOptions"]> {
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
    supportedAlgorithmIDs: algorithms,
    excludeCredentials: known.map(descriptor),
    // A passkey replaces name, password and second factor, so the user must be verified.
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
  });
  return { ...options };
}

async function registered(
  ...[{ origin, host }, challenge, credential]: Parameters<PasskeyChecks["registered"]>
): ReturnType<PasskeyChecks["registered"]> {
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
      supportedAlgorithmIDs: algorithms,
    });
    if (!verified) return null;
    const { id, publicKey, counter } = registrationInfo.credential;
    if (Buffer.from(id, "base64url").length > credential_id_bytes_max) return null;
    const transports = transportsOf(response.response.transports);
    return { passkey_id: id, public_key: Buffer.from(publicKey), counter, transports };
  } catch {
    // The library throws for wrong and malformed credentials.
    return null;
  }
}

async function loginOptions(
  ...[{ host }, challenge, known = []]: Parameters<PasskeyChecks["loginOptions"]>
): ReturnType<PasskeyChecks["loginOptions"]> {
  const { generateAuthenticationOptions } = await library();
  const options = await generateAuthenticationOptions({
    rpID: host,
    challenge: typeof challenge === "string" ? challenge : new Uint8Array(challenge),
    timeout: answer_within_ms,
    userVerification: "required",
    allowCredentials: known.map(descriptor),
  });
  return { ...options };
}

async function usedBy(
  ...[{ origin, host }, challenge, credential, passkey]: Parameters<PasskeyChecks["usedBy"]>
): ReturnType<PasskeyChecks["usedBy"]> {
  const { verifyAuthenticationResponse } = await library();
  const { passkey_id, public_key, counter, transports } = passkey;
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
}

/** True: another site framed the sign-in page. The library checks this only for some logins. */
function isFramed({ response }: { readonly response: { readonly clientDataJSON: string } }): boolean {
  const data: unknown = JSON.parse(Buffer.from(response.clientDataJSON, "base64url").toString("utf8"));
  const { crossOrigin = false, topOrigin } = data as { readonly crossOrigin?: unknown; readonly topOrigin?: unknown };
  return crossOrigin !== false || topOrigin !== undefined;
}

/**
 * True: the passkey has no certificate of its maker. Certificates are refused unread, because the library would fetch
 * revocation lists from their addresses.
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

const transportNames: ReadonlySet<string> = new Set(["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"]);

/** Keeps known transports, because the browser may send anything. */
function transportsOf(given: unknown): string[] {
  return Array.isArray(given) ? [...new Set(given.filter((each) => transportNames.has(each)))] : [];
}
