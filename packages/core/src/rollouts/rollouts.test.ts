import { describe, expect, test } from "vitest";
import { rateAtAnyTime, shareAtAnyTime } from "./always-valid.ts";
import { isEnforced } from "./enforced.ts";
import { breachesOf, type StageCounts, shownFigures } from "./guard.ts";

/** Mulberry32: the same numbers in each run. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describe("a share of agents", () => {
  const agents = Array.from({ length: 4_000 }, (_, at) => `agent-${at}`);

  test("is close to the asked share, and another one with another salt", () => {
    const chosen = (salt: string) => agents.filter((each) => isEnforced(each, salt, 0.25));
    expect(chosen("a").length / agents.length).toBeCloseTo(0.25, 1);
    expect(chosen("a")).not.toEqual(chosen("b"));
  });

  test("keeps each agent when it grows, in any spelling of the name, until it has all", () => {
    for (const agent of agents.filter((each) => isEnforced(each, "s", 0.05))) {
      expect(isEnforced(agent, "s", 0.25)).toBe(true);
      expect(isEnforced(agent.toUpperCase(), "s", 0.05)).toBe(true);
    }
    expect(agents.every((each) => isEnforced(each, "s", 1))).toBe(true);
  });
});

const guard = { holds_per_day_max: 20, overridden_share_max: 0.1, timed_out_share_max: 0.1 };

interface Policy {
  /** Of the decisions. */
  readonly blocks: number;
  readonly holds: number;
  /** Of the blocks. */
  readonly overridden: number;
  readonly timed_out: number;
}

/** At each limit of the guard: 400 decisions a day, of which 5 % are held. */
const good: Policy = { blocks: 0.5, holds: 0.05, overridden: 0.1, timed_out: 0.1 };
const bad: Policy = { ...good, overridden: 3 * good.overridden };
const decisions_a_day = 400;
/** Decisions of each stage: those of a plan without own stages. */
const plan = [100, 500, 1_000];

const none: StageCounts = { days: 0, decisions: 0, holds: 0, blocks: 0, overridden: 0, reviews: 0, timed_out: 0 };
const draw = (random: () => number, { blocks, holds, overridden, timed_out }: Policy): StageCounts => {
  // Times between Poisson events are exponential.
  const [days, drawn] = [-Math.log(1 - random()) / decisions_a_day, random()];
  const one = { ...none, days, decisions: 1 };
  if (drawn < blocks) return { ...one, blocks: 1, overridden: random() < overridden ? 1 : 0 };
  if (drawn > blocks + holds) return one;
  return { ...one, holds: 1, reviews: 1, timed_out: random() < timed_out ? 1 : 0 };
};
const sum = (one: StageCounts, two: StageCounts): StageCounts => ({
  days: one.days + two.days,
  decisions: one.decisions + two.decisions,
  holds: one.holds + two.holds,
  blocks: one.blocks + two.blocks,
  overridden: one.overridden + two.overridden,
  reviews: one.reviews + two.reviews,
  timed_out: one.timed_out + two.timed_out,
});

/**
 * Returns the number of decisions after which the guard stops a rollout; null: it arrives. The guard looks after each
 * decision.
 */
function stopsAfter(random: () => number, policyIn: (stage: number) => Policy): number | null {
  let run = none;
  for (let stage = 1; stage <= plan.length; stage += 1) {
    let own = none;
    while (own.decisions < (plan[stage - 1] as number)) {
      const one = draw(random, policyIn(stage));
      [run, own] = [sum(run, one), sum(own, one)];
      const breaches = breachesOf(guard, { run, stage: stage === 1 ? null : own }, plan.length);
      if (breaches.length > 0) return run.decisions;
    }
  }
  return null;
}

function shareOfRollouts(
  seed: number,
  policyIn: (stage: number) => Policy,
  is: (stop: number | null) => boolean,
): number {
  const [random, cases] = [randomFrom(seed), 300];
  let count = 0;
  for (let each = 0; each < cases; each += 1) if (is(stopsAfter(random, policyIn))) count += 1;
  return count / cases;
}

describe("simulated rollouts", () => {
  test("with rates at the limits arrive in at least 98 % of cases", () => {
    expect(
      shareOfRollouts(
        1,
        () => good,
        (stop) => stop === null,
      ),
    ).toBeGreaterThanOrEqual(0.98);
  });

  test("with three times the override rate are stopped within 200 decisions in at least 95 % of cases", () => {
    const stopped = shareOfRollouts(
      2,
      () => bad,
      (stop) => stop !== null && stop <= 200,
    );
    expect(stopped).toBeGreaterThanOrEqual(0.95);
  });

  test("that are good until the share grows are stopped within 200 decisions of the greater share in 90 % of cases", () => {
    const policyIn = (stage: number) => (stage === 1 ? good : bad);
    const stopped = shareOfRollouts(3, policyIn, (stop) => stop !== null && stop <= 300);
    expect(stopped).toBeGreaterThanOrEqual(0.9);
  });

  test("stop for too many holds a day and too many time-outs, and say which limit it was", () => {
    const seen: StageCounts = { ...none, days: 2, decisions: 800, holds: 100, reviews: 90 };
    const limitsOf = (run: StageCounts) => breachesOf(guard, { run, stage: null }, 3).map(({ limit }) => limit);
    expect(limitsOf(seen)).toEqual(["holds_per_day_max"]);
    expect(limitsOf({ ...seen, holds: 40, timed_out: 40 })).toEqual(["timed_out_share_max"]);
    expect(limitsOf({ ...seen, holds: 40, timed_out: 9 })).toEqual([]);
  });

  test("say how far the evidence against each limit has come, and never less for a limit of 0", () => {
    const progress = (overridden_share_max: number, overridden: number) =>
      shownFigures({ ...guard, overridden_share_max }, { run: { ...none, blocks: 20, overridden }, stage: null }, 3)
        .overridden.towards_stop;
    expect([progress(0.1, 2), progress(0.1, 20), progress(1, 20)]).toEqual([0, 1, 0]);
    expect(progress(0.1, 5)).toBeGreaterThan(progress(0.1, 4));
    expect([progress(0, 0), progress(0, 1)]).toEqual([0, 1]);
  });
});

describe("an interval that holds at any time", () => {
  test("covers the true share at all of 500 looks in at least 93 % of cases", () => {
    const [random, cases] = [randomFrom(3), 300];
    for (const share of [0.02, 0.1, 0.5]) {
      let covered = 0;
      for (let each = 0; each < cases; each += 1) {
        let [count, left] = [0, false];
        for (let of = 1; of <= 500 && !left; of += 1) {
          if (random() < share) count += 1;
          const { low, high } = shareAtAnyTime(count, of, 0.05);
          left = share < low || share > high;
        }
        if (!left) covered += 1;
      }
      expect(covered / cases).toBeGreaterThanOrEqual(0.93);
    }
  });

  test("covers the true number a day at each event in at least 93 % of cases", () => {
    const [random, cases] = [randomFrom(4), 300];
    for (const rate of [2, 20, 60]) {
      let covered = 0;
      for (let each = 0; each < cases; each += 1) {
        let [days, left] = [0, false];
        for (let count = 1; count <= 200 && !left; count += 1) {
          days -= Math.log(1 - random()) / rate;
          const { low, high } = rateAtAnyTime(count, days, 20, 0.05);
          left = rate < low || rate > high;
        }
        if (!left) covered += 1;
      }
      expect(covered / cases).toBeGreaterThanOrEqual(0.93);
    }
  });
});
