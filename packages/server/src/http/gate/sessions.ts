/**
 * Finds the caller of a session cookie. Every request reads the session, so an ended one fails on every node at once.
 */

import { findSession, noSession } from "../../operations/people/session.ts";
import type { Runtime } from "../../operations/runtime.ts";
import { type RateAgreement, rateLimitsUnder } from "../answer/rate-limit.ts";
import { type Known, remember } from "./known.ts";

export interface Sessions {
  /** Faults: missing_api_key. */
  identify(token: string): Promise<Known>;
}

export function createSessions(runtime: Pick<Runtime, "db">, agreement: RateAgreement): Sessions {
  const limits = rateLimitsUnder(agreement);
  async function identify(token: string): Promise<Known> {
    const session = await runtime.db.system((query) => findSession(query, token));
    if (session === undefined || session.mfa_pending) throw noSession();
    const { org_id, user_id, session_id, role, auth_epoch, second_factor_missing } = session;
    return remember({
      caller: {
        org_id,
        key_id: null,
        user_id,
        session_id,
        lineage_id: user_id,
        role,
        scope: "org",
        agent_id: null,
        bindings: null,
        environment: "live",
        actor: user_id,
        auth_epoch,
        ...(second_factor_missing ? { second_factor_missing } : {}),
      },
      limits,
      again: () => identify(token),
    });
  }
  return { identify };
}
