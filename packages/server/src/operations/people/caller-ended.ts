import { Fault, faultAt } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { isFrozenKey } from "../../store/freezes/freezes.ts";
import { keyStands, openModeEnded } from "../../store/keys/keys.ts";
import { sessionStands } from "../../store/people/sessions.ts";
import { type Caller, open_mode_actor } from "../shared/caller.ts";
import { noSession } from "./session.ts";

export type KnownCaller = Pick<Caller, "org_id" | "session_id" | "key_id" | "actor">;

/**
 * Refuses a caller whose session, key or open mode ended since the gate, because a slow request could create new access
 * after that. Call under the head's lock, which every end of a session or key takes. Faults: missing_api_key,
 * invalid_api_key.
 */
export async function refuseGone(query: Query, { org_id, session_id, key_id, actor }: KnownCaller): Promise<void> {
  if (session_id !== null && !(await sessionStands(query, org_id, session_id))) throw noSession();
  if (key_id !== null && !(await keyStands(query, org_id, key_id))) throw new Fault("invalid_api_key");
  if (actor === open_mode_actor && (await openModeEnded(query))) throw new Fault("missing_api_key");
}

/**
 * Does the same as `refuseGone` for lasting changes, such as keys, roles and webhooks. Also refuses a frozen
 * key. Faults: those of refuseGone, forbidden (a frozen key).
 */
export async function refuseEnded(query: Query, caller: KnownCaller): Promise<void> {
  await refuseGone(query, caller);
  const { org_id, key_id } = caller;
  if (key_id !== null && (await isFrozenKey(query, org_id, key_id)))
    throw faultAt(
      "forbidden",
      "",
      "not_allowed",
      "This key is frozen. It can change nothing until an admin unfreezes it.",
    );
}
