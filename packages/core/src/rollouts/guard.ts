import type { Rollout, RolloutBreach, RolloutGuard, RolloutStage } from "@countersign/contract";
import { evidenceAgainstRate, evidenceAgainstShare, rateAtAnyTime, shareAtAnyTime } from "./always-valid.ts";

/** Counts since a stage or a run began. */
export interface StageCounts {
  readonly days: number;
  readonly decisions: number;
  readonly holds: number;
  readonly blocks: number;
  /** Blocks of this time that people overrode. */
  readonly overridden: number;
  /** Closed reviews of this time. */
  readonly reviews: number;
  readonly timed_out: number;
}

/**
 * A run begins when a live rollout begins to count, and ends when the rollout stops. So what the guard saw in one stage
 * counts in the next one.
 */
export interface GuardCounts {
  readonly run: StageCounts;
  /** Null: the run began in this stage. */
  readonly stage: StageCounts | null;
}

type Limit = RolloutBreach["limit"];

/** A rollout that breaks no limit is stopped with at most this probability, over all stages and limits together. */
const false_stops_max = 0.02;
/** The part of `false_stops_max` for each limit. Overrides have most, because they are rare and say most about a rule. */
const limitParts: Readonly<Record<Limit, number>> = {
  holds_per_day_max: 0.1,
  overridden_share_max: 0.8,
  timed_out_share_max: 0.1,
};
/** The part for the counts of the run. The later stages divide the rest, because a fault may begin with a greater share. */
const run_part = 0.8;
const shown_alpha = 0.05;

interface Evidence {
  readonly counts: StageCounts;
  /** 1 or more: the limit is broken. */
  readonly towards_stop: number;
}

/** Returns each limit that is broken for sure. `stages`: their number. */
export function breachesOf(guard: RolloutGuard, counts: GuardCounts, stages: number): RolloutBreach[] {
  const limits = Object.keys(limitParts) as Limit[];
  return limits.flatMap((limit) => {
    const { counts: seen, towards_stop } = strongest(limit, guard, counts, stages);
    return towards_stop < 1 ? [] : [{ limit, message: messages[limit](guard, seen) }];
  });
}

/** Returns the figures of a stage, with intervals that are 95 % sure at all times. */
export function shownFigures(guard: RolloutGuard, counts: GuardCounts, stages: number): Rollout["figures"] {
  const { days, decisions, holds, blocks, overridden, reviews, timed_out } = counts.stage ?? counts.run;
  const share = (limit: Limit, count: number, of: number) => ({
    ...{ count, of, ...shareAtAnyTime(count, of, shown_alpha) },
    towards_stop: shownProgress(strongest(limit, guard, counts, stages)),
  });
  const { low, high } = rateAtAnyTime(holds, days, guard.holds_per_day_max, shown_alpha);
  return {
    days,
    decisions,
    holds: {
      ...{ count: holds, low, high: Number.isFinite(high) ? high : null },
      towards_stop: shownProgress(strongest("holds_per_day_max", guard, counts, stages)),
    },
    overridden: share("overridden_share_max", Math.min(overridden, blocks), blocks),
    timed_out: share("timed_out_share_max", timed_out, reviews),
  };
}

/** Returns true if the stage has lasted long enough and seen enough decisions. */
export function isComplete({ decisions_min, hours_min }: RolloutStage, { decisions, days }: StageCounts): boolean {
  return decisions >= decisions_min && days * 24 >= hours_min;
}

/** Returns the counts that speak most against a limit: those of the run, or of the stage. */
function strongest(limit: Limit, guard: RolloutGuard, { run, stage }: GuardCounts, stages: number): Evidence {
  const alpha = false_stops_max * limitParts[limit];
  const later_stages = stages - 1;
  const of = (counts: StageCounts, part: number): Evidence => ({
    counts,
    towards_stop: evidence(limit, guard, counts) / -Math.log(alpha * part),
  });
  const whole = of(run, later_stages === 0 ? 1 : run_part);
  if (stage === null) return whole;
  const last = of(stage, (1 - run_part) / later_stages);
  return last.towards_stop > whole.towards_stop ? last : whole;
}

function evidence(limit: Limit, guard: RolloutGuard, seen: StageCounts): number {
  switch (limit) {
    case "holds_per_day_max":
      return evidenceAgainstRate(seen.holds, begunDays(seen), guard.holds_per_day_max);
    case "overridden_share_max":
      return evidenceAgainstShare(Math.min(seen.overridden, seen.blocks), seen.blocks, guard.overridden_share_max);
    case "timed_out_share_max":
      return evidenceAgainstShare(seen.timed_out, seen.reviews, guard.timed_out_share_max);
  }
}

/** A day that has begun counts as a whole, because agents act in bursts and at certain hours. */
function begunDays({ days }: StageCounts): number {
  return Math.max(1, Math.ceil(days));
}

const messages: Readonly<Record<Limit, (guard: RolloutGuard, seen: StageCounts) => string>> = {
  holds_per_day_max: ({ holds_per_day_max }, seen) => {
    const days = begunDays(seen);
    return `${seen.holds} actions were held on ${days} ${days === 1 ? "day" : "days"}. At most ${holds_per_day_max} a day are allowed.`;
  },
  overridden_share_max: ({ overridden_share_max }, { overridden, blocks }) =>
    `People overrode ${Math.min(overridden, blocks)} of ${blocks} blocks. At most ${percent(overridden_share_max)} are allowed.`,
  timed_out_share_max: ({ timed_out_share_max }, { timed_out, reviews }) =>
    `${timed_out} of ${reviews} reviews timed out. At most ${percent(timed_out_share_max)} are allowed.`,
};

const shownProgress = ({ towards_stop }: Evidence): number => Math.min(1, Math.max(0, towards_stop));
const rounded = (value: number): string => value.toLocaleString("en-US", { maximumFractionDigits: 1 });
const percent = (share: number): string => `${rounded(100 * share)} %`;
