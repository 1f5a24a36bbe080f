/** Who is calling, as the gate established it from the key (or from open mode). Source: contract §5, api.md §3. */
import { type Actor, idPrefixes, type Role } from "@countersign/contract";

/** A caller with a valid key or session, or open mode's admin of org_local. */
export interface Caller {
  readonly org_id: string;
  /** Null in open mode and for people. */
  readonly key_id: string | null;
  /** Whose session it is; null for keys and in open mode. */
  readonly user_id: string | null;
  /** The session; null for keys and in open mode. */
  readonly session_id: string | null;
  /** key_id of the first key of its chain of rotations, or user_id: rate window and ownership of intents. Null in open mode. */
  readonly lineage_id: string | null;
  readonly role: Role;
  readonly scope: "org" | "agent";
  /** The one agent that a key of scope `agent` speaks for; null otherwise. */
  readonly agent_id: string | null;
  readonly environment: "live" | "shadow" | "test";
  /** What audit rows name: the key_id, the user_id, or `open_mode`. */
  readonly actor: string;
  /** The epoch that the key was read under; a commit refuses a decision made under an older one. */
  readonly auth_epoch: number;
}

/** Looks at a caller's key again. */
export interface Callers {
  /** The caller as of now, read from the database. Faults: invalid_api_key, expired_api_key. */
  reload(caller: Caller): Promise<Caller>;
}

/** What audit rows name in open mode, which has no key; intent rows name nothing there. */
export const openModeActor = "open_mode";

/** Who acted, as answers show it, from the text of an audit or intent row. The service itself, `system`, has no id. */
export function shownActor(actor: string | null): Actor {
  if (actor?.startsWith(idPrefixes.api_key)) return { type: "key", id: actor };
  if (actor?.startsWith(idPrefixes.user)) return { type: "user", id: actor };
  return { type: "system", id: actor === "system" ? null : (actor ?? openModeActor) };
}
