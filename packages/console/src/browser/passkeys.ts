/** The browser's side of passkeys. What is not there in older browsers is not offered. */

interface Credentials {
  parseCreationOptionsFromJSON?(options: object): CredentialCreationOptions["publicKey"];
  parseRequestOptionsFromJSON?(options: object): CredentialRequestOptions["publicKey"];
}

function credentials(): Credentials | undefined {
  return (globalThis as { readonly PublicKeyCredential?: Credentials }).PublicKeyCredential;
}

/** Whether this browser can make and show passkeys on this page. */
export function knowsPasskeys(): boolean {
  const found = credentials();
  return found?.parseCreationOptionsFromJSON !== undefined && found.parseRequestOptionsFromJSON !== undefined;
}

interface Given {
  toJSON(): Record<string, unknown>;
}

/** Makes a passkey; what it gives goes to the service. Rejects when the person breaks it off. */
export async function makePasskey(options: object): Promise<Record<string, unknown>> {
  const publicKey = credentials()?.parseCreationOptionsFromJSON?.(options);
  const made = await navigator.credentials.create({ ...(publicKey === undefined ? {} : { publicKey }) });
  if (made === null) throw new DOMException("No passkey was made.", "NotAllowedError");
  return (made as unknown as Given).toJSON();
}

/** Shows a passkey; what it gives goes to the service. Rejects when the person breaks it off. */
export async function showPasskey(options: object): Promise<Record<string, unknown>> {
  const publicKey = credentials()?.parseRequestOptionsFromJSON?.(options);
  const shown = await navigator.credentials.get({ ...(publicKey === undefined ? {} : { publicKey }) });
  if (shown === null) throw new DOMException("No passkey was shown.", "NotAllowedError");
  return (shown as unknown as Given).toJSON();
}
