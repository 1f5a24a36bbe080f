import { idPrefixes, type Reviewer, roleMeets } from "@countersign/contract";
import {
  type CountedDemand,
  type Credential,
  openTiers,
  type Review,
  type ReviewDemand,
  type Standing,
  withoutLapsed,
} from "@countersign/core";
import type { Query } from "../../../ports.ts";
import { openModeEnded } from "../../../store/keys/keys.ts";
import { readDelegations } from "../../../store/people/absences.ts";
import { readNamedReviewers } from "../../../store/people/people.ts";
import { readCredentials } from "../../../store/people/voters.ts";
import { type Caller, command_line_person, open_mode_actor } from "../../shared/caller.ts";
import { isReviewer } from "../reviewers.ts";

async function readStanding(
  query: Query,
  org_id: string,
  reviews: readonly Pick<Review, "demands">[],
): Promise<Standing> {
  const demands = reviews.flatMap((review) => review.demands);
  const voters = [...new Set(demands.flatMap(({ approved_by }) => approved_by))];
  const absences = new Map<string, string[]>();
  const delegations = voters.length === 0 ? [] : await readDelegations(query, org_id, voters);
  for (const { delegate, user_id } of delegations) absences.set(delegate, [...(absences.get(delegate) ?? []), user_id]);
  const persons = [...new Set([...voters, ...delegations.map(({ user_id }) => user_id), ...demands.flatMap(absentOf)])];
  const { credentials, accounts } = await readHeld(query, org_id, persons);
  const gone = new Map<string, "removed" | "key_ended">();
  for (const person of persons) {
    if (accounts.has(person) || credentials.has(person)) continue;
    gone.set(person, person.startsWith(idPrefixes.user) ? "removed" : "key_ended");
  }
  const named = voters.length === 0 ? [] : keysOf(demands);
  const keys = named.length === 0 ? [] : await readNamedReviewers(query, org_id, named);
  return { credentials, lineages: new Map(keys.map(({ id, lineage_id }) => [id, lineage_id])), absences, gone };
}

/**
 * Returns the review as of the database's clock, and the lapsed votes. Drops lapsed approvals first, because they can
 * open second tiers.
 */
export async function standingReview(
  query: Query,
  org_id: string,
  review: Review,
  at: string,
): Promise<ReturnType<typeof withoutLapsed<Review>>> {
  if (!hasVotes(review)) return { review: openTiers(review, at), lapsed: [] };
  const { review: standing, lapsed } = withoutLapsed(review, await readStanding(query, org_id, [review]));
  return { review: openTiers(standing, at), lapsed };
}

export async function standingReviews<R extends Pick<Review, "record" | "demands">>(
  query: Query,
  org_id: string,
  reviews: readonly R[],
  at: string,
): Promise<R[]> {
  const voted = reviews.filter(hasVotes);
  const standing = voted.length === 0 ? null : await readStanding(query, org_id, voted);
  return reviews.map((review) =>
    openTiers(standing !== null && hasVotes(review) ? withoutLapsed(review, standing).review : review, at),
  );
}

function hasVotes({ record }: Pick<Review, "record">): boolean {
  return record.status === "pending" && record.votes.length > 0;
}

async function readHeld(
  query: Query,
  org_id: string,
  persons: readonly string[],
): Promise<{ readonly credentials: Map<string, Credential[]>; readonly accounts: ReadonlySet<string> }> {
  const credentials = new Map<string, Credential[]>();
  const accounts = new Set<string>();
  const add = (person: string, credential: Credential) =>
    credentials.set(person, [...(credentials.get(person) ?? []), credential]);
  if (persons.length === 0) return { credentials, accounts };
  for (const { person, self, role } of await readCredentials(query, org_id, persons)) {
    if (person === self && self.startsWith(idPrefixes.user)) accounts.add(person);
    if (roleMeets(role, ["reviewer"])) add(person, { role, self });
  }
  if (persons.includes(command_line_person) && !(await openModeEnded(query)))
    add(command_line_person, { role: "admin", self: open_mode_actor });
  return { credentials, accounts };
}

/**
 * Returns the absent people for whom this person may vote now: an admin named the person as delegate, and they may
 * decide themselves. Excludes `submitter`, because a delegate cannot decide the own action.
 */
export async function absentFor(query: Query, org_id: string, person: string, submitter: string): Promise<string[]> {
  const delegations = await readDelegations(query, org_id, [person]);
  const absent = delegations.map(({ user_id }) => user_id).filter((user_id) => user_id !== submitter);
  if (absent.length === 0) return [];
  const { credentials, accounts } = await readHeld(query, org_id, absent);
  return absent.filter((each) => accounts.has(each) && credentials.has(each));
}

export function namedAbsent(
  reviewers: readonly Reviewer[],
  absent: readonly string[],
  { approved_by = [], in_place_of = {} }: Partial<Pick<CountedDemand, "approved_by" | "in_place_of">> = {},
): string | undefined {
  const named = absent.filter((each) => reviewers.some(({ type, id }) => type === "user" && id === each));
  const voted = new Set(approved_by.map((person) => in_place_of[person] ?? person));
  return named.find((each) => !voted.has(each)) ?? named[0];
}

export interface Places {
  readonly meets: readonly number[];
  readonly in_place_of: ReadonlyMap<number, string>;
}

/** Returns the indexes of the demands whose reviewers include the caller or a represented absent person. */
export async function placesOf(
  query: Query,
  demands: readonly (ReviewDemand & Partial<CountedDemand>)[],
  caller: Caller,
  { person, absent }: { readonly person: string; readonly absent: readonly string[] },
): Promise<Places> {
  const meets = [];
  const in_place_of = new Map<number, string>();
  for (const [place, demand] of demands.entries()) {
    if (await isReviewer(query, demand.reviewers, caller, person)) {
      meets.push(place);
      continue;
    }
    const whose = namedAbsent(demand.reviewers, absent, demand);
    if (whose === undefined) continue;
    meets.push(place);
    in_place_of.set(place, whose);
  }
  return { meets, in_place_of };
}

function absentOf({ in_place_of = {}, carried = [] }: CountedDemand): string[] {
  return [in_place_of, ...carried.map(({ demand }) => demand.in_place_of ?? {})].flatMap(Object.values<string>);
}

function keysOf(demands: readonly CountedDemand[]): string[] {
  const reviewers = demands.flatMap((demand) => [
    ...demand.reviewers,
    ...(demand.carried ?? []).flatMap((each) => each.demand.reviewers),
  ]);
  return [
    ...new Set(reviewers.flatMap(({ type, id }) => (type === "user" && id.startsWith(idPrefixes.api_key) ? [id] : []))),
  ];
}
