import type { Begun, Client } from "../../operations/people/session.ts";
import type { Runtime } from "../../operations/runtime.ts";
import type { Answer, OperationRequest } from "../handler.ts";
import { crossOrigin, isSameOrigin, type SessionCookies } from "./cookie.ts";

/** For its owner's list of sessions. */
export function clientOf({ headers, client_ip }: Pick<OperationRequest, "headers" | "client_ip">): Client {
  const agent = headers["user-agent"];
  return { ip: client_ip(), user_agent: typeof agent === "string" ? agent : null };
}

export function sessionAnswers({ settings }: Pick<Runtime, "settings">, cookies: SessionCookies) {
  return {
    /** For operations without a caller, which the gate does not check. Faults: forbidden. */
    refuseForeign(headers: OperationRequest["headers"]): void {
      if (!isSameOrigin(headers, settings.public_url())) throw crossOrigin();
    },

    begun({ session, token, lifetime_seconds }: Begun): Answer {
      return { status: 200, body: { session }, headers: { "Set-Cookie": cookies.set(token, lifetime_seconds) } };
    },
  };
}
