/** Pace: how fast approvals without a typed reason may be (docs/decisions/0039-time-and-pace-of-reviews.md). */
import { type FastVote, limits, type Pace, type RulingInput } from "@countersign/contract";
import type { CountedDemand } from "./panels.ts";

/** Times are database time. */
export type MeasuredVote = Pick<FastVote, "shown_seconds" | "approvals_in_five_minutes">;

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

/** A case never shown counts as too soon. */
function tooFast(
  pace: Pace | undefined,
  { shown_seconds, approvals_in_five_minutes }: MeasuredVote,
): FastVote["because"] {
  const { min_seconds, reason_from } = pace ?? {};
  const soon = min_seconds !== undefined && (shown_seconds === null || shown_seconds < min_seconds);
  const many = reason_from !== undefined && approvals_in_five_minutes >= reason_from;
  return [...(soon ? (["too_soon"] as const) : []), ...(many ? (["too_many"] as const) : [])];
}

export interface FastApproval {
  readonly pace: Pace;
  readonly because: FastVote["because"];
  /** Indexes of demands. */
  readonly places: readonly number[];
}

/** Null if no demand's pace is exceeded. */
export function judgePace(
  demands: readonly CountedDemand[],
  meets: readonly number[],
  measured: MeasuredVote,
): FastApproval | null {
  const places = meets.filter((place) => tooFast(demands[place]?.pace, measured).length > 0);
  const pace = strictestPace(places.map((place) => demands[place]?.pace));
  return pace === undefined ? null : { pace, because: tooFast(pace, measured), places };
}

export interface PacedVote {
  readonly marks: { readonly fast?: FastVote; readonly needs_second?: readonly number[] };
  /** The vote needs a reason or a second person. */
  readonly lacking: FastApproval | null;
}

/** A block is never too fast. */
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

/** Counts letters and digits. */
export function isReason(text: string | undefined): boolean {
  return (text?.match(/[\p{L}\p{N}]/gu) ?? []).length >= limits.reason_characters_min;
}
