import { isIP } from "node:net";
import { faultAt } from "@countersign/core";
import {
  beginPasskeyLogin,
  beginPasskeyRegistration,
  deletePasskey,
  finishPasskeyLogin,
  finishPasskeyRegistration,
  listPasskeys,
} from "../../../operations/people/passkeys.ts";
import type { Runtime } from "../../../operations/runtime.ts";
import type { PasskeySite } from "../../../sign-in-ports.ts";
import type { SessionCookies } from "../../gate/cookie.ts";
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

/**
 * Browsers support passkeys for names only. On a loopback address the page must be opened as localhost. Faults:
 * state_conflict.
 */
function passkeySite(public_url: string, host: OperationRequest["headers"][string]): PasskeySite {
  const { protocol, hostname, port, origin } = new URL(public_url);
  if (isIP(hostname.replace(/^\[|\]$/g, "")) === 0) return { origin, host: hostname };
  const local = port === "" ? "localhost" : `localhost:${port}`;
  if (host === local) return { origin: `${protocol}//${local}`, host: "localhost" };
  const message = `Browsers do not support passkeys for IP addresses: open ${protocol}//${local}, or set COUNTERSIGN_PUBLIC_URL.`;
  throw faultAt("state_conflict", "", "no_name", message);
}
