import { type Reviewer, strictestConfirm } from "@countersign/contract";
import type { Review } from "./escalation.ts";
import { strictestPace } from "./pace.ts";
import { type CountedDemand, panelsOf, reassigned_demand_name } from "./panels.ts";
import { isCounted } from "./standing.ts";

/**
 * Hands a review to other reviewers. Earlier approvals count while their people may vote. The strictest pace and
 * confirmation stay. Second tiers end. Extra people needed by fast approvals join the quorum.
 */
export function reassigned({ record, ruling, demands }: Review, reviewers: readonly Reviewer[]): Review {
  const approved_by = record.votes.flatMap((vote) => (isCounted(vote, demands) ? [vote.reviewer] : []));
  const replaces = [...new Set(demands.flatMap((each) => [each.policy, ...(each.replaces ?? [])]))];
  const carried = demands.flatMap((each) => carriedBy(each));
  const parties = approved_by.filter((person) => demands.some((each) => each.parties?.includes(person)));
  const in_place_of = Object.assign({}, ...demands.map((each) => each.in_place_of ?? {}));
  const pace = strictestPace(demands.map((each) => each.pace));
  const confirm = strictestConfirm(demands.map((each) => each.confirm));
  const demand: CountedDemand = {
    ...{ policy: reassigned_demand_name, reviewers, quorum: record.quorum.required, approved_by, replaces },
    ...(carried.length === 0 ? {} : { carried }),
    ...(parties.length === 0 ? {} : { parties }),
    ...(Object.keys(in_place_of).length === 0 ? {} : { in_place_of }),
    ...(pace === undefined ? {} : { pace }),
    ...(confirm === null ? {} : { confirm }),
  };
  const panels = panelsOf([demand], record.expires_at);
  return { record: { ...record, reviewers: [...reviewers], panels }, ruling, demands: [demand] };
}

/** Demands that entitled the earlier approvers. */
function carriedBy({
  carried = [],
  approved_by,
  reviewers,
  in_place_of,
}: CountedDemand): NonNullable<CountedDemand["carried"]> {
  const demand = { reviewers, ...(in_place_of === undefined ? {} : { in_place_of }) };
  const earlier = carried.filter(({ person }) => approved_by.includes(person));
  const own = approved_by.filter((person) => !earlier.some((each) => each.person === person));
  return [...earlier, ...own.map((person) => ({ person, demand }))];
}
