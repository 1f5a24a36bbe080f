/** Which person is behind a key: for counting different people, and for refusing reviews of one's own actions. */
import { idPrefixes, type Reviewer, type Role, roleMeets, roleNames } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { readMakers } from "../../store/keys/keys.ts";
import { open_mode_actor } from "../shared/caller.ts";

/** A caller, or the submitter of an intent. */
export interface Identity {
  /** The chain of rotations, the user of a session, or open mode. */
  readonly self: string;
  /** The user who made the key, or the key that made it, and so on; without such a user the chain of rotations. */
  readonly person: string;
  /** `self`, its maker, the maker's maker, and so on. */
  readonly makers: ReadonlySet<string>;
}

/** Returns the identity for the `lineage_id` of a caller or an intent; null: open mode, where all callers are one person. */
export async function identityOf(query: Query, org_id: string, lineage_id: string | null): Promise<Identity> {
  const self = lineage_id ?? open_mode_actor;
  const makers = lineage_id === null ? [open_mode_actor] : await readMakers(query, org_id, lineage_id);
  const person = makers.find((id) => id.startsWith(idPrefixes.user)) ?? self;
  return { self, person, makers: new Set(makers) };
}

/** Whether a review is the reviewer's own: the submitter is the same person, or its key descends from the reviewer's. */
export function isOwn(reviewer: Identity, submitter: Identity): boolean {
  return reviewer.person === submitter.person || submitter.makers.has(reviewer.self);
}

/** Whether a person of this role is one of these reviewers, by name or by role. An empty list means any person. */
export function isAmong(reviewers: readonly Reviewer[], person: string, role: Role): boolean {
  const fits = ({ type, id }: Reviewer): boolean =>
    type === "user" ? id === person : roleNames.some((name) => name === id && roleMeets(role, [name]));
  return reviewers.length === 0 || reviewers.some(fits);
}
