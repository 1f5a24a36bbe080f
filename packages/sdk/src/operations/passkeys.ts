import type { Passkey, PasskeyInput, PasskeyOptions, PasswordProof, Session } from "@countersign/contract";
import type { Page, PageQuery } from "../page.ts";
import type { Transport } from "../transport.ts";

/** Passkeys. Between `begin…` and `finish…` the page calls the browser's `navigator.credentials`. */
export function passkeyCalls(call: Transport) {
  const path = "/v1/auth/passkeys";
  return {
    /** Returns the options with which the browser creates a passkey. */
    beginPasskeyRegistration: async (proof: PasswordProof = {}) =>
      (await call<PasskeyOptions>("POST", `${path}/registration/options`, { body: proof })).options,
    /** Registers the passkey that the browser created. */
    finishPasskeyRegistration: async (input: PasskeyInput) =>
      (await call<{ passkey: Passkey }>("POST", `${path}/registration`, { body: input })).passkey,
    /** Lists your own passkeys, newest first. */
    listPasskeys: (query: PageQuery = {}) => call<Page<"passkeys", Passkey>>("GET", path, { query: { ...query } }),
    deletePasskey: (passkey_id: string) => call<null>("DELETE", `${path}/${encodeURIComponent(passkey_id)}`),
    /** Returns the options with which the browser presents a passkey. */
    beginPasskeyLogin: async () => (await call<PasskeyOptions>("POST", `${path}/login/options`)).options,
    /** Begins a session with the passkey that the browser presented. */
    finishPasskeyLogin: async (input: PasskeyInput) =>
      (await call<{ session: Session }>("POST", `${path}/login`, { body: input })).session,
  };
}
