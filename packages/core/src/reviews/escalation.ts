import type { Escalation, FastVote, Modification, Outcome, Reviewer } from "@countersign/contract";
import type { Electorate } from "../policy/escalation-terms.ts";
import { isReached } from "../time.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { type CountedDemand, hasTurn, isMet, missingApprovals, panelsOf } from "./panels.ts";
import { reassigned } from "./reassigned.ts";
import { withoutHidden } from "./redaction.ts";
import { isCounted } from "./standing.ts";
import { openTiers } from "./tiers.ts";

/*
 * The state machine of a review: one held action, from its escalation to a final outcome.
 *
 * Words:
 *   reviewer  a person who may decide the action; two keys of one person are one reviewer
 *   vote      what one reviewer said; a later vote of the same reviewer replaces the earlier one
 *   ruling    what an approval lets through: the action as submitted, or as policies and reviewers modified it
 *   demand    who must approve for one rule, and how many of them; one approval may count for several demands. Readers see
 *             demands as panels
 *   turn      a demand may wait until another one is met; until then its turn has not come
 *   lapsed    the vote's person may not vote any more (standing.ts), so the vote does not count
 *   party     a person for whom the action is, and who therefore cannot be its only approver
 *   overtaken policies changed, so the approved change no longer gives the approved ruling
 *   redacted  replaced by a mark, because policies hide the text from people
 *
 * Steps from `pending` (a closed review refuses every step):
 *
 *   step                                       | next state | outcome
 *   -------------------------------------------+------------+---------------------------------------------------
 *   vote: block                                | decided    | block
 *   vote: approval, each demand met            | decided    | the approved ruling
 *   vote: approval, a demand not met           | pending    | none yet
 *   vote: approval, while all demands of the   | pending    | refused "before_turn": the vote is not counted
 *     voter wait for others                    |            |
 *   vote: approval, but a rule holds the       | pending    | none yet; the rule's demand is one more (`withDemands`)
 *     action now that did not hold it before   |            |
 *   vote: approval, faster than the pace and   | pending    | none yet; the panel needs one more person
 *     without a reason (`needs_second`)        |            |
 *   vote: approval, others approved a          | pending    | refused "disagrees": the vote is not counted
 *     different ruling                         |            |
 *   vote: as above, but the ruling of others   | pending    | the others' votes end; this vote is the first again
 *     is overtaken                             |            |
 *   reassign                                   | pending    | none yet; votes and time limit stay. The new reviewers
 *                                              |            | are the only demand, with as many approvals as before
 *   any step, after the second tier of a       | pending    | as above, with the reviewers of that tier in the demand
 *     demand opened                            |            |
 *   cancel, by an operator or the submitter    | cancelled  | block
 *   time_over, at or after expires_at          | timed_out  | as on_timeout says; block if rules no longer approve
 *   time_over, before expires_at               | pending    | refused "early"
 *   any other step, at or after expires_at     | pending    | refused "closed"
 */

/** What the approvals of a review let through. */
export interface Ruling {
  readonly outcome: "approve" | "approve_modified";
  /**
   * Changes to payload.content, in this order: those that policies asked for when they held the action, the reviewer's, and
   * those that policies made on top of the reviewer's.
   */
  readonly modifications: readonly Modification[];
  /** payload.content after all changes; null: unchanged. */
  readonly modified_content: Readonly<Record<string, unknown>> | null;
  /** payload.content with the reviewer's change, before policies modify it again; absent: no reviewer changed it. */
  readonly wanted_content?: Readonly<Record<string, unknown>>;
}

/** A review with the votes so far. */
export interface Review {
  readonly record: Escalation;
  /** The ruling that reviewers approved so far; null: nobody has approved. */
  readonly ruling: Ruling | null;
  /** At least one. The review is approved when each is met. */
  readonly demands: readonly CountedDemand[];
}

/** One step of a review. `at` is a moment of the database's clock (RFC 3339). */
export type ReviewStep =
  | {
      readonly kind: "vote";
      /** The reviewer. Two keys of one person are one person. */
      readonly person: string;
      /** True: the same person submitted the action, which only solo mode permits. */
      readonly self_reviewed: boolean;
      /** The places of the demands whose reviewers include this person. */
      readonly meets: readonly number[];
      /** For those of these demands that the reviewer meets in place of an absent one: that person. Absent: none. */
      readonly in_place_of?: ReadonlyMap<number, string>;
      /** The places of the demands that the reviewer meets as a party. Absent: none. */
      readonly party?: readonly number[];
      readonly outcome: Outcome;
      /** What the vote lets through; null exactly for a block. */
      readonly ruling: Ruling | null;
      readonly comment: string | null;
      /** What the reviewer writes to the agent. Absent: nothing. */
      readonly message_to_agent?: string;
      /** The reviewer's own changes, as other people may see them; null: none. */
      readonly modifications: Escalation["votes"][number]["modifications"];
      /** How the approval is faster than the pace of a rule. Absent: it is not. */
      readonly fast?: FastVote;
      /** The places of the demands that need one more person because of that. Absent: none. */
      readonly needs_second?: readonly number[];
      /** True: the ruling that others approved is overtaken. */
      readonly overtaken: boolean;
      /** Texts that policies now hide from people, and that the record may still show. Absent: none. */
      readonly hidden?: readonly string[];
      /** How long an approval lives that this vote completes. Absent: the default. */
      readonly approval_valid_seconds?: number;
      readonly at: string;
    }
  | { readonly kind: "reassign"; readonly reviewers: readonly Reviewer[]; readonly at: string }
  | {
      readonly kind: "cancel";
      readonly by: string;
      readonly comment: string | null;
      /** The key that submitted the action and withdraws it. Absent: an operator cancels. */
      readonly withdrawn_by?: string;
      readonly at: string;
    }
  /** `ruling`: what passes if `on_timeout` is approve; null: the rules no longer allow that. */
  | { readonly kind: "time_over"; readonly ruling: Ruling | null; readonly at: string };

/**
 * Why a step was refused. "closed": the review is closed, or its time is over. "early": its time is not over. "disagrees":
 * others approved a different ruling. "before_turn": the reviewer's approval has to wait for the demand `after`.
 */
export type StepRefusal =
  | { readonly because: "closed" | "early" | "disagrees" }
  | { readonly because: "before_turn"; readonly after: CountedDemand };

/** The result of a step. */
export type Stepped =
  | { readonly kind: "moved"; readonly review: Review }
  | ({ readonly kind: "refused" } & StepRefusal);

/** Takes one step and returns the review after it. Pure: the given review is never changed. */
export function stepReview(before: Review, step: ReviewStep): Stepped {
  const review = openTiers(before, step.at);
  const { record } = review;
  const over = isReached(record.expires_at, step.at);
  if (record.status !== "pending") return refused("closed");
  if (step.kind === "time_over") {
    if (!over) return refused("early");
    // The closed record shows what happened: a block, although `on_timeout` was approve when the review opened.
    const ended: Review = step.ruling === null ? { ...review, record: { ...record, on_timeout: "block" } } : review;
    const ruling = record.on_timeout === "approve" ? step.ruling : null;
    return close(ended, { status: "timed_out", ruling, by: null, comment: null, at: step.at });
  }
  if (over) return refused("closed");
  switch (step.kind) {
    case "vote":
      return vote(review, step);
    case "reassign":
      return moved(reassigned(review, step.reviewers));
    case "cancel":
      return cancel(review, step);
    default:
      return step satisfies never;
  }
}

/** Returns the review with further demands, and with those who may vote by all of them. */
export function withDemands(
  { record, ruling, demands }: Review,
  further: readonly CountedDemand[],
  { reviewers, required }: Electorate,
): Review {
  const quorum = { ...record.quorum, required: Math.max(record.quorum.required, required) };
  const all = [...demands, ...further];
  return { record: { ...record, reviewers, quorum, panels: panelsOf(all, record.expires_at) }, ruling, demands: all };
}

type VoteStep = Extract<ReviewStep, { kind: "vote" }>;

function vote(review: Review, step: VoteStep): Stepped {
  const after = awaited(review, step);
  if (after !== null) return { kind: "refused", because: "before_turn", after };
  const record = withoutHidden(review.record, step.hidden ?? []);
  const { person, outcome, ruling, comment, message_to_agent, modifications, fast, at } = step;
  const said = {
    ...(message_to_agent === undefined ? {} : { message_to_agent }),
    modifications,
    ...(fast === undefined ? {} : { fast }),
  };
  const others = record.votes.filter((each) => each.reviewer !== person);
  const standing = others.filter((each) => isCounted(each, review.demands));
  const approved = review.ruling;
  const disagrees =
    ruling !== null &&
    approved !== null &&
    standing.length > 0 &&
    canonicalJson(letThrough(approved)) !== canonicalJson(letThrough(ruling));
  // A vote for a different ruling does not count: two half quorums for different rulings must never add up to one.
  if (disagrees && !step.overtaken) return refused("disagrees");
  const own = { reviewer: person, outcome, comment, ...said, ...capacityOf(step), at };
  const votes = [...(disagrees ? [] : others), own];
  const approvers = votes.flatMap((each) => (each.outcome === "block" ? [] : [each.reviewer]));
  const met = review.demands.map((demand, place) => counted(demand, place, step, approvers));
  const { demands, reviewers } = withWeakerPanels(record.reviewers, met, step);
  const approvals = votes.filter((each) => isCounted(each, demands)).length;
  const missing = Math.max(...demands.map(missingApprovals));
  const { required: least } = record.quorum;
  // The record of an approved review shows as many approvals as it took.
  const required = ruling === null ? least : missing > 0 ? Math.max(least, approvals + missing) : approvals;
  const rejections = votes.length - approvers.length;
  const quorum = { required, approvals, rejections };
  const self_reviewed = record.self_reviewed || step.self_reviewed;
  const panels = panelsOf(demands, record.expires_at);
  const voted = { record: { ...record, reviewers, votes, quorum, panels, self_reviewed }, ruling, demands };
  if (ruling !== null && missing > 0) return moved(voted);
  const deciding = ruling === null ? [own] : votes.filter((each) => isCounted(each, demands));
  return close(voted, { status: "decided", ruling, by: person, comment, messages: messagesOf(deciding), at });
}

/** Returns a demand with the approvals of these people, where the vote's own one counts as the step says. */
function counted(
  demand: CountedDemand,
  place: number,
  { person, meets, in_place_of, party = [], needs_second: fast = [] }: VoteStep,
  approvers: readonly string[],
): CountedDemand {
  const { parties: before = [], in_place_of: places = {}, carried = [], needs_second: asked = [], ...rest } = demand;
  const approved_by = approvers.filter((each) =>
    each === person ? meets.includes(place) : demand.approved_by.includes(each),
  );
  const is_party = (each: string): boolean => (each === person ? party.includes(place) : before.includes(each));
  const parties = approved_by.filter(is_party);
  const needs_second = approved_by.filter((each) => (each === person ? fast.includes(place) : asked.includes(each)));
  const absent = approved_by.flatMap((each) => {
    const whose = each === person ? in_place_of?.get(place) : places[each];
    return whose === undefined ? [] : [[each, whose] as const];
  });
  // A new vote counts by the panel of now.
  const still_carried = carried.filter((each) => each.person !== person);
  return {
    ...rest,
    approved_by,
    ...(still_carried.length === 0 ? {} : { carried: still_carried }),
    ...(parties.length === 0 ? {} : { parties }),
    ...(needs_second.length === 0 ? {} : { needs_second }),
    ...(absent.length === 0 ? {} : { in_place_of: Object.fromEntries(absent) }),
  };
}

/**
 * Returns who may vote after a vote. A demand may have left its own reviewers out, because the reviewers of another one meet it too
 * (`met_with`). If a delegate voted for that other one, the delegate does not meet the demand, so its own reviewers may vote again.
 */
function withWeakerPanels(
  reviewers: readonly Reviewer[],
  demands: readonly CountedDemand[],
  { in_place_of }: VoteStep,
): { readonly reviewers: Reviewer[]; readonly demands: readonly CountedDemand[] } {
  const delegated = new Set([...(in_place_of?.keys() ?? [])].map((place) => demands[place]?.policy));
  const isOpen = (demand: CountedDemand): boolean =>
    demand.met_with !== undefined && delegated.has(demand.met_with) && !isMet(demand);
  const open = demands.filter(isOpen);
  if (open.length === 0) return { reviewers: [...reviewers], demands };
  const all = open.some((demand) => demand.reviewers.length === 0) || reviewers.length === 0;
  const named = new Map(
    [...reviewers, ...open.flatMap((demand) => demand.reviewers)].map((each) => [`${each.type}:${each.id}`, each]),
  );
  const left = demands.map((demand) => {
    if (!isOpen(demand)) return demand;
    const { met_with: _, ...own } = demand;
    return own;
  });
  return { reviewers: all ? [] : [...named.values()], demands: left };
}

/** Returns what the record of a vote says about the capacity in which the reviewer voted. */
function capacityOf({
  ruling,
  party = [],
  in_place_of,
}: VoteStep): Pick<Escalation["votes"][number], "party" | "in_place_of"> {
  const absent = [...new Set(in_place_of?.values())];
  return {
    ...(ruling === null || party.length === 0 ? {} : { party: true as const }),
    ...(absent.length === 0 ? {} : { in_place_of: absent }),
  };
}

/**
 * Returns the demand that an approval has to wait for; null: none. The turn of one of the reviewer's demands is enough: the
 * approval then counts for all of them. A block never waits.
 */
function awaited({ demands }: Review, { ruling, meets }: VoteStep): CountedDemand | null {
  if (ruling === null) return null;
  const own = demands.filter((_, place) => meets.includes(place));
  if (own.some((demand) => hasTurn(demand, demands))) return null;
  const [first] = own;
  return demands.find((other) => other.policy === first?.after && !(isMet(other) && hasTurn(other, demands))) ?? null;
}

function cancel(review: Review, { by, comment, withdrawn_by, at }: Extract<ReviewStep, { kind: "cancel" }>): Stepped {
  const record = withdrawn_by === undefined ? review.record : { ...review.record, withdrawn_by };
  return close({ ...review, record }, { status: "cancelled", ruling: null, by, comment, at });
}

/** How a review ends. */
interface Closing {
  readonly status: "decided" | "timed_out" | "cancelled";
  /** Null: block. */
  readonly ruling: Ruling | null;
  /** Null: the time limit. */
  readonly by: string | null;
  readonly comment: string | null;
  /** What reviewers wrote to the agent. Absent: nothing. */
  readonly messages?: readonly string[];
  readonly at: string;
}

/** Returns what these votes say to the agent. */
function messagesOf(votes: Escalation["votes"]): string[] {
  return votes.flatMap(({ message_to_agent }) => (message_to_agent === undefined ? [] : [message_to_agent]));
}

function close(review: Review, { status, ruling, by, comment, messages = [], at }: Closing): Stepped {
  const modifications = ruling === null ? [] : [...ruling.modifications];
  const said = messages.length === 0 ? {} : { message_to_agent: messages.join("\n\n") };
  const resolution = { outcome: ruling?.outcome ?? ("block" as const), by, comment, ...said, modifications, at };
  const record = { ...review.record, status, resolution, closed_at: at };
  return moved({ ...review, ruling: ruling === null ? null : letThrough(ruling), record });
}

/** The part of a ruling that approvals are compared by, and the only part that a closed review keeps. */
function letThrough({ outcome, modifications, modified_content }: Ruling): Ruling {
  return { outcome, modifications, modified_content };
}

function moved(review: Review): Stepped {
  return { kind: "moved", review };
}

function refused(because: "closed" | "early" | "disagrees"): Stepped {
  return { kind: "refused", because };
}
