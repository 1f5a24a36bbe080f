import { type Escalation, limits, type Modification, type Outcome, type Reviewer } from "@countersign/contract";
import { parseTimestampUs } from "../time.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { clipText } from "../values/clip-text.ts";
import { withoutTexts } from "../values/hidden-text.ts";

/*
 * The review of one held action. Everything that happens to it is a step from `pending`; a closed review never moves.
 *
 *   pending --vote, block-------------------------> decided    outcome block
 *   pending --vote, approval, quorum reached------> decided    outcome: what was approved
 *   pending --vote, approval, people missing------> pending
 *   pending --reassign----------------------------> pending    other reviewers, same votes, same time limit
 *   pending --cancel------------------------------> cancelled  outcome block
 *   pending --time over, not before expires_at----> timed_out  outcome as on_timeout says, block where it may not approve by now
 *
 * Every step but the last is refused from `expires_at` on, whether or not anybody has noticed that the time is over.
 * One person has one vote: voting again replaces the former. Approvals have to be for the same action: who would let
 * something else through is told so, instead of two half quorums being added up. Approvals of what policies have made
 * something else of since (`overtaken`) hold nobody up: they end with the first of something else.
 */

/** What the approvals of a review let through. */
export interface Ruling {
  readonly outcome: "approve" | "approve_modified";
  /** Changes to payload.content, those of policies first. */
  readonly modifications: readonly Modification[];
  /** payload.content as changed; null when nothing is. */
  readonly modified_content: Readonly<Record<string, unknown>> | null;
  /** payload.content as a reviewer wants it, before what policies still modify; absent: none changed anything. */
  readonly wanted_content?: Readonly<Record<string, unknown>>;
}

/** A review as it stands. */
export interface Review {
  readonly record: Escalation;
  /** What the approvals so far are for; null: nobody has approved. */
  readonly ruling: Ruling | null;
}

/** Something that happens to a review, at a moment of the database's clock (RFC 3339). */
export type ReviewStep =
  | {
      readonly kind: "vote";
      /** Who votes: two keys of one person are one person. */
      readonly person: string;
      readonly outcome: Outcome;
      /** What an approval lets through; null exactly for a block. */
      readonly ruling: Ruling | null;
      readonly comment: string | null;
      /** What this person changed of it; null: nothing. */
      readonly modifications: Escalation["votes"][number]["modifications"];
      /** What others approved is not let through as that any more: policies have changed since. */
      readonly overtaken: boolean;
      /** Texts that policies keep from people by now; the record may have told them before. Absent: none. */
      readonly hidden?: readonly string[];
      readonly at: string;
    }
  | { readonly kind: "reassign"; readonly reviewers: readonly Reviewer[]; readonly at: string }
  | { readonly kind: "cancel"; readonly by: string; readonly comment: string | null; readonly at: string }
  /** `ruling`: what the action is let through as, where `on_timeout` says approve; null: that is not allowed any more. */
  | { readonly kind: "time_over"; readonly ruling: Ruling | null; readonly at: string };

/** What came of a step. */
export type Stepped =
  | { readonly kind: "moved"; readonly review: Review }
  /** `closed`: final, or its time is over; `early`: its time is not over; `disagrees`: others approved something else. */
  | { readonly kind: "refused"; readonly because: "closed" | "early" | "disagrees" };

/** Takes one step. Pure; the review that is given is never changed. Source: api.md §6. */
export function stepReview(review: Review, step: ReviewStep): Stepped {
  const { record } = review;
  const over = us(step.at) >= us(record.expires_at);
  if (record.status !== "pending") return refused("closed");
  if (step.kind === "time_over") {
    if (!over) return refused("early");
    // The record says what has happened, not what would have while it was allowed.
    const ended: Review = step.ruling === null ? { ...review, record: { ...record, on_timeout: "block" } } : review;
    return close(ended, "timed_out", record.on_timeout === "approve" ? step.ruling : null, null, null, step.at);
  }
  if (over) return refused("closed");
  switch (step.kind) {
    case "vote":
      return vote(review, step);
    case "reassign":
      return moved({ ...review, record: { ...record, reviewers: [...step.reviewers] } });
    case "cancel":
      return close(review, "cancelled", null, step.by, step.comment, step.at);
    default:
      return step satisfies never;
  }
}

function vote(review: Review, step: Extract<ReviewStep, { kind: "vote" }>): Stepped {
  const record = withoutHidden(review.record, step.hidden ?? []);
  const { person, outcome, ruling, comment, modifications, at } = step;
  const others = record.votes.filter((each) => each.reviewer !== person);
  const { ruling: known } = review;
  const disagrees =
    ruling !== null &&
    known !== null &&
    others.length > 0 &&
    canonicalJson(through(known)) !== canonicalJson(through(ruling));
  if (disagrees && !step.overtaken) return refused("disagrees");
  const votes = [...(disagrees ? [] : others), { reviewer: person, outcome, comment, modifications, at }];
  const approvals = votes.filter((each) => each.outcome !== "block").length;
  const quorum = { required: record.quorum.required, approvals, rejections: votes.length - approvals };
  const voted = { record: { ...record, votes, quorum }, ruling };
  if (ruling === null) return close(voted, "decided", null, person, comment, at);
  if (approvals < quorum.required) return moved(voted);
  return close(voted, "decided", ruling, person, comment, at);
}

function close(
  review: Review,
  status: "decided" | "timed_out" | "cancelled",
  ruling: Ruling | null,
  by: string | null,
  comment: string | null,
  at: string,
): Stepped {
  const modifications = ruling === null ? [] : [...ruling.modifications];
  const resolution = { outcome: ruling?.outcome ?? ("block" as const), by, comment, modifications, at };
  const record = { ...review.record, status, resolution, closed_at: at };
  return moved({ ruling: ruling === null ? null : through(ruling), record });
}

/** The record without texts that stand in what an agent or a reviewer wrote. Marks may be longer than what they stand for. */
function withoutHidden(record: Escalation, hidden: readonly string[]): Escalation {
  if (hidden.length === 0) return record;
  const { reason, action, votes } = record;
  return {
    ...record,
    reason: clipText(withoutTexts(reason, hidden), limits.comment_chars_max),
    action: {
      ...action,
      target: withoutTexts(action.target, hidden),
      summary: withoutTexts(action.summary, hidden),
    },
    votes: votes.map((each) => ({
      ...each,
      comment: each.comment === null ? null : clipText(withoutTexts(each.comment, hidden), limits.comment_chars_max),
    })),
  };
}

/** What the action is let through as: approvals are for the same where this is, and nothing else is kept of them. */
function through({ outcome, modifications, modified_content }: Ruling): Ruling {
  return { outcome, modifications, modified_content };
}

function moved(review: Review): Stepped {
  return { kind: "moved", review };
}

function refused(because: "closed" | "early" | "disagrees"): Stepped {
  return { kind: "refused", because };
}

function us(time: string): number {
  const at_us = parseTimestampUs(time);
  if (at_us === null) throw new RangeError(`${time} is no moment`);
  return at_us;
}
