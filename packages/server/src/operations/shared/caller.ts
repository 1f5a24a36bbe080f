/** Who calls, as the gate established it from a key, a session or open mode. Source: contract §5. */
import { type Actor, idPrefixes, type Role } from "@countersign/contract";
import type { Bindings } from "@countersign/core";

/** A caller with a valid key or session, or open mode's admin of org_local. */
export interface Caller {
  readonly org_id: string;
  /** Null in open mode and for people. */
  readonly key_id: string | null;
  /** The user of the session; null for keys and in open mode. */
  readonly user_id: string | null;
  /** The session; null for keys and in open mode. */
  readonly session_id: string | null;
  /** The user_id, or the key_id of the first key of the chain of rotations. Owns intents and a rate window. Null in open mode. */
  readonly lineage_id: string | null;
  readonly role: Role;
  readonly scope: "org" | "agent";
  /** The one agent that a key of scope `agent` speaks for; null otherwise. */
  readonly agent_id: string | null;
  /** What the key is bound to; null for unbound keys, sessions and open mode. */
  readonly bindings: Bindings | null;
  readonly environment: "live" | "shadow" | "test";
  /** The name in audit rows: the key_id, the user_id, or `open_mode`. */
  readonly actor: string;
  /** The epoch at which the key was read; a commit refuses a decision from an older epoch. */
  readonly auth_epoch: number;
}

/** Reads callers again. */
export interface Callers {
  /** Reads the caller from the database again. Faults: invalid_api_key, expired_api_key. */
  reload(caller: Caller): Promise<Caller>;
  /** Writes which keys of the organization (null: of all) this node has seen used so far. It does so by itself within 15 seconds. */
  writeUses(org_id: string | null): Promise<void>;
}

/** The actor of records in open mode, which has no key. */
export const open_mode_actor = "open_mode";

/** The person behind open mode, and behind all keys that were made there or on the command line without naming a person. */
export const command_line_person = "command_line";

/** Returns the actor as answers show it, from the stored text. The service itself, `system`, has no id. */
export function shownActor(actor: string): Actor {
  if (actor.startsWith(idPrefixes.api_key)) return { type: "key", id: actor };
  if (actor.startsWith(idPrefixes.user)) return { type: "user", id: actor };
  return { type: "system", id: actor === "system" ? null : actor };
}
