/** What the operations that begin a session have in common over HTTP. Source: api.md §9. */
import { limits } from "@countersign/contract";
import { Fault, parseTimestampUs, us_per_second } from "@countersign/core";
import type { Begun, Client } from "../../operations/people/session.ts";
import type { Runtime } from "../../operations/runtime.ts";
import type { Answer, OperationRequest } from "../handler.ts";
import { isSameOrigin, type SessionCookies } from "./cookie.ts";

/** Where a request comes from, for its owner's list of sessions. */
export function clientOf({ headers, client_ip }: Pick<OperationRequest, "headers" | "client_ip">): Client {
  const agent = headers["user-agent"];
  return { ip: client_ip(), user_agent: typeof agent === "string" ? agent : null };
}

/** The answers of one node. */
export function sessionAnswers({ settings, clock }: Pick<Runtime, "settings" | "clock">, cookies: SessionCookies) {
  return {
    /** The gate looks at writes that come with a session; these begin one or come without. Faults: forbidden. */
    refuseForeign(headers: OperationRequest["headers"]): void {
      if (!isSameOrigin(headers, settings.public_url())) throw new Fault("forbidden");
    },

    /** Begins a session: its cookie lives as long as it does. */
    begun({ session, token }: Begun): Answer {
      const left_us = (parseTimestampUs(session.expires_at) as number) - clock.now_us();
      const seconds = Math.min(limits.session_lifetime_seconds, Math.ceil(left_us / us_per_second));
      return { status: 200, body: { session }, headers: { "Set-Cookie": cookies.set(token, seconds) } };
    },
  };
}
