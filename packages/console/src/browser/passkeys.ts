/** Older browsers lack parts of the interface. */

interface Credentials {
  parseCreationOptionsFromJSON?(options: object): CredentialCreationOptions["publicKey"];
  parseRequestOptionsFromJSON?(options: object): CredentialRequestOptions["publicKey"];
}

function credentials(): Credentials | undefined {
  return (globalThis as { readonly PublicKeyCredential?: Credentials }).PublicKeyCredential;
}

export function knowsPasskeys(): boolean {
  const found = credentials();
  return found?.parseCreationOptionsFromJSON !== undefined && found.parseRequestOptionsFromJSON !== undefined;
}

interface Given {
  toJSON(): Record<string, unknown>;
}

/** Returns the body for the service. Rejects if the person cancels. */
export async function makePasskey(options: object): Promise<Record<string, unknown>> {
  const publicKey = credentials()?.parseCreationOptionsFromJSON?.(options);
  const made = await navigator.credentials.create({ ...(publicKey === undefined ? {} : { publicKey }) });
  if (made === null) throw new DOMException("No passkey was made.", "NotAllowedError");
  return (made as unknown as Given).toJSON();
}

/** Returns the body for the service. Rejects if the person cancels. */
export async function showPasskey(options: object): Promise<Record<string, unknown>> {
  const publicKey = credentials()?.parseRequestOptionsFromJSON?.(options);
  const shown = await navigator.credentials.get({ ...(publicKey === undefined ? {} : { publicKey }) });
  if (shown === null) throw new DOMException("No passkey was shown.", "NotAllowedError");
  return (shown as unknown as Given).toJSON();
}
