import {
  beginPasskeyLogin,
  beginPasskeyRegistration,
  deletePasskey,
  finishPasskeyLogin,
  finishPasskeyRegistration,
  listPasskeys,
} from "../../../operations/people/passkeys.ts";
import type { Runtime } from "../../../operations/runtime.ts";
import type { SessionCookies } from "../../gate/cookie.ts";
import { passkeySite } from "../../gate/passkey-site.ts";
import { clientOf, sessionAnswers } from "../../gate/session-answers.ts";
import type { Handlers, OperationRequest } from "../../handler.ts";

type PasskeyHandlers = Pick<
  Handlers,
  | "beginPasskeyRegistration"
  | "finishPasskeyRegistration"
  | "listPasskeys"
  | "deletePasskey"
  | "beginPasskeyLogin"
  | "finishPasskeyLogin"
>;

export function passkeyRoutes(runtime: Runtime, cookies: SessionCookies): PasskeyHandlers {
  const { begun, refuseForeign } = sessionAnswers(runtime, cookies);
  const siteOf = ({ host }: OperationRequest["headers"]) => passkeySite(runtime.settings.public_url(), host);
  return {
    async beginPasskeyRegistration({ caller, headers, body }) {
      return { status: 200, body: await beginPasskeyRegistration(runtime, caller, siteOf(headers), body) };
    },
    async finishPasskeyRegistration({ caller, headers, body }) {
      const passkey = await finishPasskeyRegistration(runtime, caller, siteOf(headers), body);
      return { status: 201, body: { passkey } };
    },
    async listPasskeys({ caller, query }) {
      return { status: 200, body: await listPasskeys(runtime, caller, query) };
    },
    async deletePasskey({ caller, params }) {
      await deletePasskey(runtime, caller, params.passkey_id);
      return { status: 204 };
    },
    async beginPasskeyLogin({ headers }) {
      refuseForeign(headers);
      return { status: 200, body: await beginPasskeyLogin(runtime, siteOf(headers)) };
    },
    async finishPasskeyLogin(request) {
      const { headers, body } = request;
      refuseForeign(headers);
      return begun(await finishPasskeyLogin(runtime, siteOf(headers), body, clientOf(request)));
    },
  };
}
