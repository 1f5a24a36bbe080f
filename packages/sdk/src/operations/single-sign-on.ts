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

/** The methods on single sign-on through an organization's own OpenID provider. Source: api.md §9. */
export function singleSignOnCalls(call: Transport) {
  const path = "/v1/auth/sso";
  return {
    /** Lets people sign in through your OpenID provider. */
    putSingleSignOn: async (input: SingleSignOnInput) =>
      (await call<Answer>("PUT", path, { body: input })).single_sign_on,
    /** How people sign in through your OpenID provider. */
    getSingleSignOn: async () => (await call<Answer>("GET", path)).single_sign_on,
    /** Stops single sign-on. */
    deleteSingleSignOn: () => call<null>("DELETE", path),
    /** Where the browser is to go to sign in; it has to come back with the cookie that this sets. */
    beginSingleSignOn: async (input: SingleSignOnBegin) =>
      (await call<{ single_sign_on: SingleSignOnStart }>("POST", `${path}/begin`, { body: input })).single_sign_on,
    /** Begins a session with the end of the path and the query that the provider sent the browser back with. */
    finishSingleSignOn: async (input: SingleSignOnFinish) =>
      (await call<{ session: Session }>("POST", `${path}/finish`, { body: input })).session,
  };
}
