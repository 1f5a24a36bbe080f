import { limits } from "@countersign/contract";
import { getSingleSignOn, putSingleSignOn, removeSingleSignOn } from "../../../operations/people/single-sign-on.ts";
import { beginSingleSignOn, finishSingleSignOn } from "../../../operations/people/single-sign-on-login.ts";
import type { Runtime } from "../../../operations/runtime.ts";
import { type SessionCookies, sessionCookies } from "../../gate/cookie.ts";
import { clientOf, sessionAnswers } from "../../gate/session-answers.ts";
import type { Handlers } from "../../handler.ts";

type SingleSignOnHandlers = Pick<
  Handlers,
  "putSingleSignOn" | "getSingleSignOn" | "deleteSingleSignOn" | "beginSingleSignOn" | "finishSingleSignOn"
>;

export function singleSignOnRoutes(runtime: Runtime, cookies: SessionCookies): SingleSignOnHandlers {
  const { begun, refuseForeign } = sessionAnswers(runtime, cookies);
  /** Binds a login to its browser. */
  const cookieOf = (state_sha256: string) =>
    sessionCookies(() => runtime.settings.public_url(), `countersign_sso_${state_sha256.slice(0, 16)}`);
  return {
    async putSingleSignOn({ caller, body }) {
      return { status: 200, body: { single_sign_on: await putSingleSignOn(runtime, caller, body) } };
    },
    async getSingleSignOn({ caller }) {
      return { status: 200, body: { single_sign_on: await getSingleSignOn(runtime, caller) } };
    },
    async deleteSingleSignOn({ caller }) {
      await removeSingleSignOn(runtime, caller);
      return { status: 204 };
    },
    async beginSingleSignOn({ headers, body }) {
      refuseForeign(headers);
      const { location, state_sha256, browser } = await beginSingleSignOn(runtime, body);
      const set = cookieOf(state_sha256).set(browser, limits.sso_login_seconds);
      return { status: 200, body: { single_sign_on: { location } }, headers: { "Set-Cookie": set } };
    },
    async finishSingleSignOn(request) {
      const { headers, body } = request;
      refuseForeign(headers);
      const browserOf = (state_sha256: string) => cookieOf(state_sha256).read(headers);
      return begun(await finishSingleSignOn(runtime, body, browserOf, clientOf(request)));
    },
  };
}
