/** Which person stands behind a key: what distinct people and self-review are told by. Source: api.md §6. */
import { idPrefixes, type Reviewer, type Role, roleMeets, roleNames } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { readMakers } from "../../store/keys/keys.ts";
import { openModeActor } from "../shared/caller.ts";

/** Who a caller is, or who submitted an intent. */
export interface Identity {
  /** The chain of rotations, the user of a session, or open mode. */
  readonly self: string;
  /** The user who made the key, at however many removes; where no user did, the chain of rotations. */
  readonly person: string;
  /** `self`, who made it, who made that one, and so on. */
  readonly makers: ReadonlySet<string>;
}

/** `lineage_id` is the caller's or the intent's; null: open mode, where everybody is one person. */
export async function identityOf(query: Query, org_id: string, lineage_id: string | null): Promise<Identity> {
  const self = lineage_id ?? openModeActor;
  const makers = lineage_id === null ? [openModeActor] : await readMakers(query, org_id, lineage_id);
  const person = makers.find((id) => id.startsWith(idPrefixes.user)) ?? self;
  return { self, person, makers: new Set(makers) };
}

/** Whether a review is the reviewer's own: the submitter is the same person, or its key descends from the reviewer's. */
export function isOwn(reviewer: Identity, submitter: Identity): boolean {
  return reviewer.person === submitter.person || submitter.makers.has(reviewer.self);
}

/** Whether a person of this role is one of these reviewers: named, or by a role that is; where nobody is named, everybody is. */
export function isAmong(reviewers: readonly Reviewer[], person: string, role: Role): boolean {
  const fits = ({ type, id }: Reviewer): boolean =>
    type === "user" ? id === person : roleNames.some((name) => name === id && roleMeets(role, [name]));
  return reviewers.length === 0 || reviewers.some(fits);
}
