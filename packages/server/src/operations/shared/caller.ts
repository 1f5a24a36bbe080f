import { type Actor, idPrefixes, type Role } from "@countersign/contract";
import type { Bindings } from "@countersign/core";

/** A caller with a valid key or session, or the admin of org_local in open mode. */
export interface Caller {
  readonly org_id: string;
  /** Null in open mode and for people. */
  readonly key_id: string | null;
  /** Null for keys and in open mode. */
  readonly user_id: string | null;
  /** Null for keys and in open mode. */
  readonly session_id: string | null;
  /**
   * The user_id, or the key_id of the first key of the chain of rotations. Owner of intents and a rate window. Null in
   * open mode.
   */
  readonly lineage_id: string | null;
  readonly role: Role;
  readonly scope: "org" | "agent";
  /** The agent of a key of scope `agent`; else null. */
  readonly agent_id: string | null;
  /** Null for unbound keys, sessions and open mode. */
  readonly bindings: Bindings | null;
  readonly environment: "live" | "shadow" | "test";
  /** Name in audit rows: the key_id, the user_id, or `open_mode`. */
  readonly actor: string;
  /** The epoch at which the key was read. A commit refuses decisions from an older epoch. */
  readonly auth_epoch: number;
  /** The session lacks the second factor that the organization requires. Absent: false. */
  readonly second_factor_missing?: true;
  /** The chat from which a person calls; absent: the console or a program. */
  readonly via?: "slack";
}

export interface Callers {
  reload(caller: Caller): Promise<Caller>;
  /** Writes which keys of the organization (null: of all) this node has seen. Happens anyway within 15 seconds. */
  writeUses(org_id: string | null): Promise<void>;
}

export const open_mode_actor = "open_mode";

/** The person behind open mode, and behind keys made there or on the command line without a named person. */
export const command_line_person = "command_line";

/** Returns the stored actor as answers show it. The service itself, `system`, has no id. */
export function shownActor(actor: string): Actor {
  if (actor.startsWith(idPrefixes.api_key)) return { type: "key", id: actor };
  if (actor.startsWith(idPrefixes.user)) return { type: "user", id: actor };
  return { type: "system", id: actor === "system" ? null : actor };
}
