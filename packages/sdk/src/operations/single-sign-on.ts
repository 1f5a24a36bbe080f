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

export function singleSignOnCalls(call: Transport) {
  const path = "/v1/auth/sso";
  return {
    /** Configures sign-in through your OpenID provider. */
    putSingleSignOn: async (input: SingleSignOnInput) =>
      (await call<Answer>("PUT", path, { body: input })).single_sign_on,
    getSingleSignOn: async () => (await call<Answer>("GET", path)).single_sign_on,
    deleteSingleSignOn: () => call<null>("DELETE", path),
    /** Returns the address where the browser signs in. The browser must return with the cookie of this answer. */
    beginSingleSignOn: async (input: SingleSignOnBegin) =>
      (await call<{ single_sign_on: SingleSignOnStart }>("POST", `${path}/begin`, { body: input })).single_sign_on,
    /** Begins a session with the end of the path and the query with which the browser came back. */
    finishSingleSignOn: async (input: SingleSignOnFinish) =>
      (await call<{ session: Session }>("POST", `${path}/finish`, { body: input })).session,
  };
}
