/**
 * Which approvals of a review still count. An approval counts at the close only if its person still may vote: somebody may have
 * been removed, may have another role, or may have lost the last key since. See docs/reference/reviews.md.
 */
import { type Escalation, type Reviewer, type Role, roleMeets } from "@countersign/contract";
import type { Review } from "./escalation.ts";
import { type CountedDemand, panelsOf } from "./panels.ts";

/** What a person may vote with: an account, or a chain of rotations of a key, which is valid and has a role that may decide. */
export interface Credential {
  readonly role: Role;
  /** The user_id, or the chain of rotations. */
  readonly self: string;
}

/** What is known now about the people who voted, and about those in whose place they voted. */
export interface Standing {
  /** By person. Without an entry the person may not vote. */
  readonly credentials: ReadonlyMap<string, readonly Credential[]>;
  /** The chain of rotations of each key that a demand names. */
  readonly lineages: ReadonlyMap<string, string>;
  /** Absences that hold now: the delegate, then the absent people whom the delegate may vote for. */
  readonly absences: ReadonlyMap<string, readonly string[]>;
  /** People without an account or a valid key. */
  readonly gone: ReadonlyMap<string, "removed" | "key_ended">;
}

type Vote = Escalation["votes"][number];
type Because = NonNullable<Vote["lapsed"]>["because"];

/** Whether a person with these credentials is among these reviewers. An empty list means any reviewer. */
export function isEntitled(
  reviewers: readonly Reviewer[],
  person: string,
  { credentials, lineages }: Pick<Standing, "credentials" | "lineages">,
): boolean {
  const own = credentials.get(person) ?? [];
  if (own.length === 0) return false;
  const fits = ({ type, id }: Reviewer): boolean =>
    type === "role"
      ? own.some(({ role }) => roleMeets(role, [id as Role]))
      : id === person || own.some(({ self }) => self === id || self === lineages.get(id));
  return reviewers.length === 0 || reviewers.some(fits);
}

/**
 * Returns the review without the approvals that do not count any more, and the votes that lapsed by this. The record keeps these votes,
 * and says why they do not count. A person whose vote lapsed may vote again.
 */
export function withoutLapsed<R extends Pick<Review, "record" | "demands">>(
  review: R,
  standing: Standing,
): { readonly review: R; readonly lapsed: readonly Vote[] } {
  const because = new Map<string, Because>();
  const lost = new Map<string, string[]>();
  const demands = review.demands.map((demand) => {
    const left = demand.approved_by.filter((person) => {
      const why = lapse(demand, person, standing);
      if (why === null) return true;
      because.set(person, why);
      lost.set(person, [...(lost.get(person) ?? []), demand.policy]);
      return false;
    });
    if (left.length === demand.approved_by.length) return demand;
    // The panel's reviewers get another mail, because an approval is missing again.
    const { told: _, ...untold } = demand;
    return { ...untold, approved_by: left };
  });
  if (lost.size === 0) return { review, lapsed: [] };
  const lapsed: Vote[] = [];
  const votes = review.record.votes.map((vote) => {
    const panels = lost.get(vote.reviewer);
    const why = because.get(vote.reviewer);
    if (panels === undefined || why === undefined) return vote;
    const earlier = vote.lapsed?.panels ?? [];
    const marked = { ...vote, lapsed: { because: why, panels: [...earlier, ...panels] } };
    lapsed.push(marked);
    return marked;
  });
  const { record } = review;
  const quorum = { ...record.quorum, approvals: votes.filter((vote) => isCounted(vote, demands)).length };
  const panels = panelsOf(demands, record.expires_at);
  return { review: { ...review, demands, record: { ...record, votes, quorum, panels } }, lapsed };
}

/** Whether a vote is an approval that did not lapse for all its panels. */
export function isCounted({ outcome, lapsed, reviewer }: Vote, demands: readonly CountedDemand[]): boolean {
  return (
    outcome !== "block" && (lapsed === undefined || demands.some(({ approved_by }) => approved_by.includes(reviewer)))
  );
}

/** Returns why a person's approval does not count for a demand any more; null: it counts. */
function lapse(demand: CountedDemand, person: string, standing: Standing): Because | null {
  // Whoever approved before a reassignment need not be one of the new reviewers.
  const carried = demand.carried?.filter((each) => each.person === person).map((each) => each.demand) ?? [];
  const asked = carried.length > 0 ? carried : [demand];
  for (const { reviewers, in_place_of = {} } of asked) {
    if (isEntitled(reviewers, person, standing)) continue;
    const absent = in_place_of[person];
    if (absent === undefined) return standing.gone.get(person) ?? "role_changed";
    const held = standing.absences.get(person)?.includes(absent) === true;
    if (!held || !isEntitled(reviewers, absent, standing) || !standing.credentials.has(person))
      return standing.gone.get(person) ?? standing.gone.get(absent) ?? "absence_ended";
  }
  return null;
}
