import { Fault, faultAt } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { isFrozenKey } from "../../store/freezes/freezes.ts";
import { keyStands, openModeEnded } from "../../store/keys/keys.ts";
import { sessionStands } from "../../store/people/sessions.ts";
import { type Caller, open_mode_actor } from "../shared/caller.ts";
import { noSession } from "./session.ts";

/** What is looked at again of whoever changes something that lasts. */
export type KnownCaller = Pick<Caller, "org_id" | "session_id" | "key_id" | "actor">;

/**
 * Refuses a caller whose session ended or whose key was revoked since the gate, or open mode's once there is a key. A body that dribbles
 * in, and a name or a provider of the caller's that is slow to answer, would else let it set up another way in after its end. Under the
 * head's lock, which whoever ends a session or a key takes, too, so nothing of the kind is made after that. Faults: missing_api_key,
 * invalid_api_key.
 */
export async function refuseGone(query: Query, { org_id, session_id, key_id, actor }: KnownCaller): Promise<void> {
  if (session_id !== null && !(await sessionStands(query, org_id, session_id))) throw noSession();
  if (key_id !== null && !(await keyStands(query, org_id, key_id))) throw new Fault("invalid_api_key");
  if (actor === open_mode_actor && (await openModeEnded(query))) throw new Fault("missing_api_key");
}

/**
 * As `refuseGone`, of what outlasts the request: keys, roles, providers, webhooks, rules, freezes. Also refuses a frozen key, so that it
 * finds no way out. Faults: those of refuseGone, forbidden (a frozen key).
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
