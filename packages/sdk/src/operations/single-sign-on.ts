import type {
  Session,
  SingleSignOn,
  SingleSignOnBegin,
  SingleSignOnFinish,
  SingleSignOnInput,
  SingleSignOnStart,
} from "@countersign/contract";
import type { Transport } from "../transport.ts";

type Answer = { single_sign_on: SingleSignOn };

/** The methods on single sign-on through an organization's own OpenID provider. */
export function singleSignOnCalls(call: Transport) {
  const path = "/v1/auth/sso";
  return {
    /** Configures sign-in through your OpenID provider. */
    putSingleSignOn: async (input: SingleSignOnInput) =>
      (await call<Answer>("PUT", path, { body: input })).single_sign_on,
    /** Returns the configuration of sign-in through your OpenID provider. */
    getSingleSignOn: async () => (await call<Answer>("GET", path)).single_sign_on,
    /** Stops single sign-on. */
    deleteSingleSignOn: () => call<null>("DELETE", path),
    /** Returns the address where the browser signs in. The browser must return with the cookie of this answer. */
    beginSingleSignOn: async (input: SingleSignOnBegin) =>
      (await call<{ single_sign_on: SingleSignOnStart }>("POST", `${path}/begin`, { body: input })).single_sign_on,
    /** Begins a session with the path's end and the query with which the provider sent the browser back. */
    finishSingleSignOn: async (input: SingleSignOnFinish) =>
      (await call<{ session: Session }>("POST", `${path}/finish`, { body: input })).session,
  };
}
