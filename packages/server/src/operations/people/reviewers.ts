import { type Reviewer, type Role, roleMeets, roleNames } from "@countersign/contract";
import {
  type Electorate,
  electorateOf,
  Fault,
  faultAt,
  type KnownReviewer,
  type ReviewDemand,
  reviewersToKnow,
} from "@countersign/core";
import type { Db, Query } from "../../ports.ts";
import { isRotationOf } from "../../store/keys/keys.ts";
import { type NamedReviewer, readNamedReviewers } from "../../store/people/people.ts";
import { readAble } from "../../store/people/voters.ts";
import type { Caller } from "../shared/caller.ts";
import { type Identity, identityOf, isAmong } from "./identity.ts";
import { judgeOwnReview } from "./own-review.ts";

/**
 * Refuses reviewers who could never decide: unknown ids, roles below reviewer, revoked or expired keys, and the
 * submitter. `path`: the list's place in the body. Returns the named people; null: a role or nobody is named. Faults:
 * invalid_request naming each.
 */
export async function refuseUnfitReviewers(
  query: Query,
  org_id: string,
  reviewers: readonly Reviewer[],
  path: string,
  submitter: Identity | null = null,
): Promise<ReadonlySet<string> | null> {
  const named = reviewers.filter(({ type }) => type === "user").map(({ id }) => id);
  if (named.length === 0) return null;
  const people = new Set<string>();
  const known = new Map((await readNamedReviewers(query, org_id, named)).map((each) => [each.id, each]));
  const details = [];
  for (const [index, { type, id }] of reviewers.entries()) {
    const problem = type === "role" ? null : await unfit(known.get(id));
    if (problem !== null) details.push({ path: `${path}/${index}/id`, ...problem });
  }
  if (details.length > 0) throw new Fault("invalid_request", { details });
  return named.length < reviewers.length ? null : people;

  async function unfit(reviewer: NamedReviewer | undefined): Promise<{ code: string; message: string } | null> {
    if (reviewer === undefined) return { code: "not_allowed", message: "Nobody in your organization has this id." };
    const { lineage_id, role, valid } = reviewer;
    if (!roleMeets(role, ["reviewer"])) return { code: "not_allowed", message: `The role ${role} may not decide.` };
    if (!valid) return { code: "not_allowed", message: "This key is revoked or expired." };
    const identity = await identityOf(query, org_id, lineage_id);
    if (submitter !== null && (await judgeOwnReview(query, org_id, identity, submitter)).kind === "refused")
      return { code: "not_allowed", message: "The submitter of the action cannot decide it." };
    people.add(identity.person);
    return null;
  }
}

/** Returns who may vote. Reads people only if the demands of rules differ and name users. */
export async function readElectorate(
  db: Pick<Db, "tenant">,
  org_id: string,
  demands: readonly ReviewDemand[],
): Promise<Electorate> {
  if (reviewersToKnow(demands).length === 0) return electorateOf(demands, new Map());
  return db.tenant(org_id, (query) => electorateIn(query, org_id, demands));
}

export async function electorateIn(
  query: Query,
  org_id: string,
  demands: readonly ReviewDemand[],
): Promise<Electorate> {
  const ids = reviewersToKnow(demands);
  const known = new Map<string, KnownReviewer>();
  const named = ids.length === 0 ? [] : await readNamedReviewers(query, org_id, ids);
  for (const { id, lineage_id, role } of named)
    known.set(id, { role, ...(await identityOf(query, org_id, lineage_id)) });
  return electorateOf(demands, known);
}

/** Returns at most 1,000 people of these reviewers who may decide now, including people who submit with own keys. */
export function ableAmong(query: Query, org_id: string, reviewers: readonly Reviewer[]): Promise<string[]> {
  const ids = reviewers.flatMap(({ type, id }) => (type === "user" ? [id] : []));
  const named = reviewers.flatMap(({ type, id }) => (type === "role" ? [id as Role] : []));
  const least = reviewers.length === 0 ? (["reviewer"] as const) : named;
  const roles = roleNames.filter((role) => roleMeets(role, least));
  return readAble(query, org_id, roles, ids);
}

/** Returns true if the caller is one of these reviewers: by person, role, or any rotation of a key. */
export async function isReviewer(
  query: Query,
  reviewers: readonly Reviewer[],
  caller: Caller,
  person: string,
): Promise<boolean> {
  if (isAmong(reviewers, person, caller.role)) return true;
  const named = reviewers.map(({ id }) => id);
  return isRotationOf(query, caller.org_id, named, caller.lineage_id);
}

/** A demand that an approval does not meet. `few`: its quorum is too large. Else: the caller is no reviewer of it. */
export interface UnmetDemand extends ReviewDemand {
  readonly few: boolean;
}

export async function unmetDemands(
  query: Query,
  demands: readonly ReviewDemand[],
  approvals: number,
  caller: Caller,
  person: string,
): Promise<UnmetDemand[]> {
  const unmet = [];
  for (const demand of demands) {
    const few = demand.quorum > approvals;
    if (few || !(await isReviewer(query, demand.reviewers, caller, person))) unmet.push({ ...demand, few });
  }
  return unmet;
}

/**
 * Refuses a quorum that `people` and those who already `approved` cannot reach. `path`: the place in the body. Faults:
 * invalid_request.
 */
export function refuseTooFew(
  people: ReadonlySet<string> | null,
  approved: readonly string[],
  quorum: number,
  path: string,
): void {
  if (people === null || new Set([...people, ...approved]).size >= quorum) return;
  const others = approved.length === 0 ? "" : `, beside the ${approved.length} who did`;
  const message = `The quorum is ${quorum}; only ${people.size} of these reviewers can approve${others}. Name more people, or a role.`;
  throw faultAt("invalid_request", path, "out_of_range", message);
}
