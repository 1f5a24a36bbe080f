import type { Confirm, Escalation, FastVote, Modification, Outcome, Reviewer } from "@countersign/contract";
import type { Electorate } from "../policy/escalation-terms.ts";
import { isReached } from "../time.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { type CountedDemand, hasTurn, isMet, missingApprovals, panelsOf } from "./panels.ts";
import { reassigned } from "./reassigned.ts";
import { withoutHidden } from "./redaction.ts";
import { isCounted } from "./standing.ts";
import { openTiers } from "./tiers.ts";

/*
 * State machine of a review, from escalation to final outcome.
 *
 *   vote       what one reviewer said; replaces that reviewer's earlier vote
 *   ruling     what an approval lets through: the action as submitted, or as modified
 *   demand     who must approve for one rule; shown to readers as a panel. One approval may count for several demands
 *   turn       a demand with `after` has its turn once the other demand is met
 *   lapsed     a vote that no longer counts, because its person may not vote any more (standing.ts)
 *   party      a person whom the action serves, and who cannot be its only approver
 *   overtaken  an approved change that now gives a different ruling, because policies changed
 *
 * Steps from `pending` (a closed review refuses every step):
 *
 *   step                                         | next state | outcome
 *   ---------------------------------------------+------------+-------------------------------------------
 *   block                                        | decided    | block
 *   approval, each demand met                    | decided    | the approved ruling
 *   approval, a demand not met                   | pending    |
 *   approval, no demand of the voter has a turn  | pending    | refused "before_turn"
 *   approval, a further rule holds the action    | pending    | adds the rule's demand (`withDemands`)
 *   approval, too fast and without a reason      | pending    | the panel needs one more person
 *   approval, others approved another ruling     | pending    | refused "disagrees"
 *   the same, but the others' is overtaken       | pending    | the others' votes end
 *   reassign                                     | pending    | new reviewers, one demand; votes and quorum stay
 *   cancel, by an operator or the submitter      | cancelled  | block
 *   time_over, at or after expires_at            | timed_out  | on_timeout; block if rules no longer approve
 *   time_over, before expires_at                 | pending    | refused "early"
 *   any other step, at or after expires_at       | pending    | refused "closed"
 *
 * Each step first opens the second tiers that are due.
 */

export interface Ruling {
  readonly outcome: "approve" | "approve_modified";
  /** In order: by policies when they held the action, by the reviewer, by policies after the reviewer. */
  readonly modifications: readonly Modification[];
  /** After all changes. Null if unchanged. */
  readonly modified_content: Readonly<Record<string, unknown>> | null;
  /** After the reviewer's change, before policies modify it again. */
  readonly wanted_content?: Readonly<Record<string, unknown>>;
}

export interface Review {
  readonly record: Escalation;
  /** Null before the first approval. */
  readonly ruling: Ruling | null;
  /** All must be met. */
  readonly demands: readonly CountedDemand[];
}

/** `at` is database time, RFC 3339. */
export type ReviewStep =
  | {
      readonly kind: "vote";
      /** All keys of one person count as that person. */
      readonly person: string;
      /** The person also submitted the action, which only solo mode permits. */
      readonly self_reviewed: boolean;
      /** Indexes of demands that this person can meet. */
      readonly meets: readonly number[];
      /** By demand index: the absent reviewer replaced. */
      readonly in_place_of?: ReadonlyMap<number, string>;
      /** Indexes of demands met as a party. */
      readonly party?: readonly number[];
      readonly outcome: Outcome;
      /** Null for a block. */
      readonly ruling: Ruling | null;
      readonly comment: string | null;
      readonly message_to_agent?: string;
      /** With hidden texts redacted. */
      readonly modifications: Escalation["votes"][number]["modifications"];
      /** How the person confirmed the vote. Absent: without a confirmation. */
      readonly confirmed?: Confirm;
      /** Set if faster than a rule's pace. */
      readonly fast?: FastVote;
      /** Indexes of demands that need one more person because of `fast`. */
      readonly needs_second?: readonly number[];
      /** Policy changes made the approved ruling obsolete. */
      readonly overtaken: boolean;
      /** Texts hidden now that the record may still show. */
      readonly hidden?: readonly string[];
      /** Validity of the approval if this vote completes it. */
      readonly approval_valid_seconds?: number;
      readonly at: string;
    }
  | { readonly kind: "reassign"; readonly reviewers: readonly Reviewer[]; readonly at: string }
  | {
      readonly kind: "cancel";
      readonly by: string;
      readonly comment: string | null;
      /** The submitter's key. Absent if an operator cancels. */
      readonly withdrawn_by?: string;
      readonly at: string;
    }
  /** `ruling` passes if `on_timeout` is approve. Null if rules no longer allow it. */
  | { readonly kind: "time_over"; readonly ruling: Ruling | null; readonly at: string };

/**
 * "closed": closed or expired. "early": not yet expired. "disagrees": others approved a different ruling.
 * "before_turn": the demand `after` must be met first.
 */
export type StepRefusal =
  | { readonly because: "closed" | "early" | "disagrees" }
  | { readonly because: "before_turn"; readonly after: CountedDemand };

export type Stepped =
  | { readonly kind: "moved"; readonly review: Review }
  | ({ readonly kind: "refused" } & StepRefusal);

/** Never mutates `before`. */
export function stepReview(before: Review, step: ReviewStep): Stepped {
  const review = openTiers(before, step.at);
  const { record } = review;
  const over = isReached(record.expires_at, step.at);
  if (record.status !== "pending") return refused("closed");
  if (step.kind === "time_over") {
    if (!over) return refused("early");
    // The record shows the block although `on_timeout` was approve.
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
  const { person, outcome, ruling, comment, message_to_agent, modifications, fast, confirmed, at } = step;
  const said = {
    ...(message_to_agent === undefined ? {} : { message_to_agent }),
    modifications,
    ...(fast === undefined ? {} : { fast }),
    ...(confirmed === undefined ? {} : { confirmed }),
  };
  const others = record.votes.filter((each) => each.reviewer !== person);
  const standing = others.filter((each) => isCounted(each, review.demands));
  const approved = review.ruling;
  const disagrees =
    ruling !== null &&
    approved !== null &&
    standing.length > 0 &&
    canonicalJson(letThrough(approved)) !== canonicalJson(letThrough(ruling));
  // Approvals of different rulings must never form one quorum.
  if (disagrees && !step.overtaken) return refused("disagrees");
  const own = { reviewer: person, outcome, comment, ...said, ...capacityOf(step), at };
  const votes = [...(disagrees ? [] : others), own];
  const approvers = votes.flatMap((each) => (each.outcome === "block" ? [] : [each.reviewer]));
  const met = review.demands.map((demand, place) => counted(demand, place, step, approvers));
  const { demands, reviewers } = withWeakerPanels(record.reviewers, met, step);
  const approvals = votes.filter((each) => isCounted(each, demands)).length;
  const missing = Math.max(...demands.map(missingApprovals));
  const { required: least } = record.quorum;
  // An approved review requires exactly the approvals it got.
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

/** Counts the approvals of a demand. The step says how its own vote counts. */
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
  // A new vote counts by the current panel.
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
 * Returns who may vote now. A demand with `met_with` has no voters of its own. If a delegate met the other demand but
 * not this one, this one's reviewers may vote again.
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
 * Returns the demand that must be met first, or null. If one of the reviewer's demands has its turn, the approval
 * counts for all of them. A block never waits.
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

interface Closing {
  readonly status: "decided" | "timed_out" | "cancelled";
  /** Null: block. */
  readonly ruling: Ruling | null;
  /** Null: timeout. */
  readonly by: string | null;
  readonly comment: string | null;
  readonly messages?: readonly string[];
  readonly at: string;
}

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

/** Returns the part by which approvals are compared. A closed review keeps only that part. */
function letThrough({ outcome, modifications, modified_content }: Ruling): Ruling {
  return { outcome, modifications, modified_content };
}

function moved(review: Review): Stepped {
  return { kind: "moved", review };
}

function refused(because: "closed" | "early" | "disagrees"): Stepped {
  return { kind: "refused", because };
}
