/**
 * An approval counts at the close only if its person may still vote: people may have been removed, changed role, or
 * lost their last key (docs/reference/reviews.md).
 */
import { type Escalation, type Reviewer, type Role, roleMeets } from "@countersign/contract";
import type { Review } from "./escalation.ts";
import { type CountedDemand, panelsOf } from "./panels.ts";

/** A valid account or rotation chain with a deciding role. */
export interface Credential {
  readonly role: Role;
  /** User id or key rotation chain. */
  readonly self: string;
}

export interface Standing {
  /** Without an entry the person may not vote. */
  readonly credentials: ReadonlyMap<string, readonly Credential[]>;
  /** Rotation chains of the keys that demands name. */
  readonly lineages: ReadonlyMap<string, string>;
  /** By delegate: the absent people replaced now. */
  readonly absences: ReadonlyMap<string, readonly string[]>;
  readonly gone: ReadonlyMap<string, "removed" | "key_ended">;
}

type Vote = Escalation["votes"][number];
type Because = NonNullable<Vote["lapsed"]>["because"];

/** Empty `reviewers`: any reviewer. */
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
 * Removes approvals that no longer count and returns the newly lapsed votes. The record keeps them with the reason.
 * Such a person may vote again.
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
    // The panel's reviewers get another mail.
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

/** False for a block, and for an approval that lapsed for all its panels. */
export function isCounted({ outcome, lapsed, reviewer }: Vote, demands: readonly CountedDemand[]): boolean {
  return (
    outcome !== "block" && (lapsed === undefined || demands.some(({ approved_by }) => approved_by.includes(reviewer)))
  );
}

function lapse(demand: CountedDemand, person: string, standing: Standing): Because | null {
  // Earlier approvers need not be among the reviewers of a reassignment.
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
