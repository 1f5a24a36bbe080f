import { idPrefixes, type Reviewer, type Role, roleMeets, roleNames } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { readFirstKey, readMakers } from "../../store/keys/keys.ts";
import { command_line_person, open_mode_actor } from "../shared/caller.ts";

export interface Identity {
  readonly self: string;
  /** The account or first key at the root of the chain of makers, or the person named on the command line. */
  readonly person: string;
  /** `self`, its maker, the maker's maker, and so on. */
  readonly makers: ReadonlySet<string>;
}

/** Returns the identity for a `lineage_id`; null: open mode, where all callers are one person. */
export async function identityOf(query: Query, org_id: string, lineage_id: string | null): Promise<Identity> {
  if (lineage_id === null)
    return { self: open_mode_actor, person: command_line_person, makers: new Set([open_mode_actor]) };
  const makers = await readMakers(query, org_id, lineage_id);
  const key = await readFirstKey(query, org_id, lineage_id);
  return { self: lineage_id, person: key?.person ?? lineage_id, makers: new Set(makers) };
}

/** Returns the current id of a recorded person. Records from before migration 0003 name a key or open mode. */
export async function presentPerson(query: Query, org_id: string, recorded: string): Promise<string> {
  if (recorded === open_mode_actor) return command_line_person;
  if (!recorded.startsWith(idPrefixes.api_key)) return recorded;
  return (await readFirstKey(query, org_id, recorded))?.person ?? recorded;
}

/** Returns true if a person of this role is one of these reviewers. An empty list means any person. */
export function isAmong(reviewers: readonly Reviewer[], person: string, role: Role): boolean {
  const fits = ({ type, id }: Reviewer): boolean =>
    type === "user" ? id === person : roleNames.some((name) => name === id && roleMeets(role, [name]));
  return reviewers.length === 0 || reviewers.some(fits);
}
