import { limits, type Reviewer } from "@countersign/contract";
import {
  type CountedDemand,
  clipText,
  demandOf,
  isPartyName,
  membrane_demand_name,
  membraneDemand,
  missingApprovals,
  type PartyNames,
  panelsOf,
  type Review,
  type ReviewDemand,
  unitedReviewers,
} from "@countersign/core";
import type { Query } from "../../../ports.ts";
import { readMembranes } from "../../../store/membranes/membranes.ts";
import { readAddresses } from "../../../store/people/voters.ts";
import { readHoldingPolicies } from "../../../store/policies/policies.ts";
import { ableAmong } from "../reviewers.ts";

export interface OutOfReach {
  readonly policy_id: string | null;
  readonly policy: string;
  readonly membrane_id: string;
  readonly membrane: string;
  readonly message: string;
}

/**
 * Returns live policies and live membranes whose actions too few people can approve now. A policy appears once, in its
 * first such membrane.
 */
export async function rulesOutOfReach(query: Query, org_id: string): Promise<OutOfReach[]> {
  const membranes = (await readMembranes(query, org_id)).filter(({ status }) => status === "live");
  if (membranes.length === 0) return [];
  const counts = new Map<string, number>();
  const countOf = async (reviewers: readonly Reviewer[]): Promise<number> => {
    const key = JSON.stringify(reviewers);
    const count = counts.get(key) ?? (await ableAmong(query, org_id, reviewers)).length;
    counts.set(key, count);
    return count;
  };
  const policies = await readHoldingPolicies(query, org_id);
  const found = new Map<string, OutOfReach>();
  for (const { membrane_id, name, escalation } of membranes) {
    const demands = policies.map((policy) => demandOf({ ...policy, approvals_min: 1 }, escalation));
    for (const demand of [membraneDemand(escalation), ...demands]) {
      const { policy, policy_id = null, quorum } = demand;
      const people = await countOf(everyoneOf(demand));
      const key = policy_id ?? membrane_id;
      if (people >= quorum || found.has(key)) continue;
      found.set(key, { policy_id, policy, membrane_id, membrane: name, message: ruleMessage(demand, people, name) });
    }
  }
  return [...found.values()];
}

function ruleMessage(
  { policy, quorum }: Pick<CountedDemand, "policy" | "quorum">,
  people: number,
  membrane: string,
): string {
  const able = people === 0 ? "nobody is left who may approve" : `only ${people} of them may approve`;
  const whose = policy === membrane_demand_name ? `The membrane ${membrane}` : `The policy ${policy}`;
  return clipText(
    `Nobody can decide what this rule holds. ${whose} asks for approvals of ${quorum} people; in the membrane ${membrane} ${able}. ` +
      "Its reviewers were removed, have other roles, or have no valid key. Name other reviewers, or invite people.",
    limits.comment_chars_max,
  );
}

/**
 * Returns why too few people can approve a pending review; null: there are enough. `submitter` may not decide; null:
 * solo mode. `parties` cannot be the only approvers.
 */
export async function reviewOutOfReach(
  query: Query,
  org_id: string,
  { record, demands }: Review,
  { submitter, parties }: { readonly submitter: string | null; readonly parties: PartyNames },
): Promise<string | null> {
  const later = demands.flatMap(({ tier }) => tier?.reviewers ?? []);
  const voters = new Set(await ableAmong(query, org_id, unitedReviewers(record.reviewers, later)));
  const panels = panelsOf(demands, record.expires_at);
  for (const [place, demand] of demands.entries()) {
    const missing = missingApprovals(demand);
    if (missing === 0) continue;
    const able = (await ableAmong(query, org_id, everyoneOf(demand))).filter(
      (person) => voters.has(person) && person !== submitter && !demand.approved_by.includes(person),
    );
    const enough = able.length >= missing && !(await areParties(query, org_id, demand, able, parties));
    if (enough) continue;
    const text =
      `Nobody can decide this review. The panel ${demand.policy} needs ${panels[place]?.missing}; ` +
      "too few such people may vote now: they were removed, have other roles, have no valid key, submitted the action, or the " +
      "action is for them. Reassign the review to other people, or cancel it.";
    return clipText(text, limits.comment_chars_max);
  }
  return null;
}

function everyoneOf({ reviewers, tier }: Pick<ReviewDemand, "reviewers" | "tier">): Reviewer[] {
  return unitedReviewers(reviewers, tier?.reviewers ?? []);
}

async function areParties(
  query: Query,
  org_id: string,
  { approved_by, parties: voted = [] }: CountedDemand,
  able: readonly string[],
  parties: PartyNames,
): Promise<boolean> {
  if (parties.size === 0 || approved_by.some((person) => !voted.includes(person))) return false;
  const addresses = await readAddresses(query, org_id, able);
  return able.every((person) => {
    const address = addresses.get(person);
    return isPartyName(parties, [person, ...(address === undefined ? [] : [address])]);
  });
}
