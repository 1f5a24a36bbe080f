/** Pace: how fast approvals may be without a typed reason. See docs/decisions/0039. */
import { type FastVote, limits, type Pace, type RulingInput } from "@countersign/contract";
import type { CountedDemand } from "./panels.ts";

/** How fast an approval is. Times are of the database's clock. */
export type MeasuredVote = Pick<FastVote, "shown_seconds" | "approvals_in_five_minutes">;

/** Returns the pace that satisfies all of these; undefined: none of them asks for any. */
export function strictestPace(paces: readonly (Pace | null | undefined)[]): Pace | undefined {
  const given = (values: readonly (number | undefined)[]) => values.filter((each) => each !== undefined);
  const seconds = given(paces.map((each) => each?.min_seconds));
  const from = given(paces.map((each) => each?.reason_from));
  if (seconds.length + from.length === 0) return undefined;
  return {
    ...(seconds.length === 0 ? {} : { min_seconds: Math.max(...seconds) }),
    ...(from.length === 0 ? {} : { reason_from: Math.min(...from) }),
  };
}

/** Returns how an approval is faster than a pace allows; empty: it is not. A case that was never shown counts as too soon. */
function tooFast(
  pace: Pace | undefined,
  { shown_seconds, approvals_in_five_minutes }: MeasuredVote,
): FastVote["because"] {
  const { min_seconds, reason_from } = pace ?? {};
  const soon = min_seconds !== undefined && (shown_seconds === null || shown_seconds < min_seconds);
  const many = reason_from !== undefined && approvals_in_five_minutes >= reason_from;
  return [...(soon ? (["too_soon"] as const) : []), ...(many ? (["too_many"] as const) : [])];
}

/** An approval that is too fast for a rule. */
export interface FastApproval {
  /** The strictest pace of those rules that the approval is too fast for. */
  readonly pace: Pace;
  readonly because: FastVote["because"];
  /** The places of their demands. */
  readonly places: readonly number[];
}

/** Judges an approval by the pace of each demand that it counts for. Null: it is not too fast for any. */
export function judgePace(
  demands: readonly CountedDemand[],
  meets: readonly number[],
  measured: MeasuredVote,
): FastApproval | null {
  const places = meets.filter((place) => tooFast(demands[place]?.pace, measured).length > 0);
  const pace = strictestPace(places.map((place) => demands[place]?.pace));
  return pace === undefined ? null : { pace, because: tooFast(pace, measured), places };
}

/** What the pace of the rules makes of a vote. */
export interface PacedVote {
  /** What the step of the vote carries. */
  readonly marks: { readonly fast?: FastVote; readonly needs_second?: readonly number[] };
  /** The vote has to be refused: it needs a reason or a second person. Null: it may count. */
  readonly lacking: FastApproval | null;
}

/** Judges a vote by the pace of the demands that it counts for. A block is never too fast. */
export function paceVote(
  demands: readonly CountedDemand[],
  meets: readonly number[],
  measured: MeasuredVote,
  { outcome, comment, second_person = false }: Pick<RulingInput, "outcome" | "comment" | "second_person">,
): PacedVote {
  const judged = outcome === "block" ? null : judgePace(demands, meets, measured);
  if (judged === null) return { marks: {}, lacking: null };
  const needs_second = !isReason(comment) && second_person;
  const fast = { because: judged.because, ...measured, second_person: needs_second };
  return {
    marks: { fast, ...(needs_second ? { needs_second: judged.places } : {}) },
    lacking: isReason(comment) || second_person ? null : judged,
  };
}

/** Whether a text has enough letters and digits to be a reason. */
export function isReason(text: string | undefined): boolean {
  return (text?.match(/[\p{L}\p{N}]/gu) ?? []).length >= limits.reason_characters_min;
}
