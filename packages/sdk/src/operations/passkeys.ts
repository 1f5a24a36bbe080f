import type { Passkey, PasskeyInput, PasskeyOptions, PasswordProof, Session } from "@countersign/contract";
import type { Page, PageQuery } from "../page.ts";
import type { Transport } from "../transport.ts";

/** The methods on passkeys. Between two of them stands the browser's `navigator.credentials`. Source: api.md §9. */
export function passkeyCalls(call: Transport) {
  const path = "/v1/auth/passkeys";
  return {
    /** What the browser is to make a passkey with, in its JSON form. */
    beginPasskeyRegistration: async (proof: PasswordProof = {}) =>
      (await call<PasskeyOptions>("POST", `${path}/registration/options`, { body: proof })).options,
    /** Registers what the browser made. */
    finishPasskeyRegistration: async (input: PasskeyInput) =>
      (await call<{ passkey: Passkey }>("POST", `${path}/registration`, { body: input })).passkey,
    /** One's own passkeys, newest first. */
    listPasskeys: (query: PageQuery = {}) => call<Page<"passkeys", Passkey>>("GET", path, { query: { ...query } }),
    /** Deletes one of one's own passkeys. */
    deletePasskey: (passkey_id: string) => call<null>("DELETE", `${path}/${encodeURIComponent(passkey_id)}`),
    /** What the browser is to show a passkey with, in its JSON form. */
    beginPasskeyLogin: async () => (await call<PasskeyOptions>("POST", `${path}/login/options`)).options,
    /** Begins a session with what the browser showed. */
    finishPasskeyLogin: async (input: PasskeyInput) =>
      (await call<{ session: Session }>("POST", `${path}/login`, { body: input })).session,
  };
}
