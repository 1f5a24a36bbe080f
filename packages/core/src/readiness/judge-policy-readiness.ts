import { type Backtest, limits, type NotReady, type PolicyReadiness } from "@countersign/contract";
import { names } from "../onboarding/words.ts";
import { countInterval, shareInterval } from "./intervals.ts";
import { numbers, one, peopleHaveTime, percent, somebodyDecides } from "./judge-readiness.ts";

type PolicyFigures = NonNullable<PolicyReadiness["figures"]>;
type VerdictCounts = Backtest["verdicts"]["recorded"];

const noBacktest: NotReady = {
  code: "no_backtest",
  message: `Nobody backtested this version in the last ${limits.policy_readiness_hours} hours.`,
  next_step:
    `Run a backtest of this version alone on the last ${limits.policy_readiness_days} days, and keep it: ` +
    'POST /v1/learning/backtest with "keep": true.',
};

/** Returns why a version is not ready to be activated; empty: it is. Null: it has no backtest. */
export function judgePolicyReadiness(figures: PolicyFigures | null): NotReady[] {
  if (figures === null) return [noBacktest];
  const adds_reviews = figures.holds.count > figures.recorded.holds.count;
  return [
    ...enoughDecisions(figures),
    ...factsArrive(figures),
    ...(adds_reviews ? [...somebodyDecides(figures), ...peopleHaveTime(figures)] : []),
    ...reviewersAgree(figures),
  ];
}

function enoughDecisions({ decisions }: PolicyFigures): NotReady[] {
  const min = limits.readiness_decisions_min;
  if (decisions >= min) return [];
  return one(
    "too_few_decisions",
    `The backtest decided ${numbers(decisions, "recorded action")} again. ${min} are needed.`,
    "Activate it in shadow first, or let agents submit more actions.",
  );
}

function factsArrive({ missing_facts: { fired, unknown, facts } }: PolicyFigures): NotReady[] {
  const share = fired === 0 ? 0 : unknown / fired;
  if (share <= limits.readiness_missing_facts_share_max) return [];
  return one(
    "missing_facts",
    `In ${percent(share)} of ${numbers(fired, "action")} for which the policy fired, it did not know: ${names(facts.map(({ path }) => path.replace(/^facts\./, "")))}.`,
    "Supply these facts or parameters, or change the policy so that it does not read them.",
  );
}

function reviewersAgree({ agrees_with_reviewers: { rulings, agreed, high } }: PolicyFigures): NotReady[] {
  const min = limits.policy_readiness_agreement_min;
  if (rulings === 0 || high >= min) return [];
  return one(
    "reviewers_disagree",
    `It agrees with ${agreed.toLocaleString("en-US")} of ${numbers(rulings, "ruling")} of people: for sure, with less than ${percent(min)} of all.`,
    "Look at the changed verdicts of the backtest, and change the policy.",
  );
}

/** Returns verdicts as shares and numbers a day, with 95 % intervals. `days`: length of the window. */
export function verdictFigures(
  { approve, approve_modified, escalate, block }: VerdictCounts,
  days: number,
): PolicyFigures["recorded"] {
  const passed = approve + approve_modified;
  const all = passed + escalate + block;
  const perDay = (count: number) => {
    const { low, high } = countInterval(count);
    const length = Math.max(days, 1);
    return { count, per_day: count / length, low: low / length, high: high / length };
  };
  return {
    passes: { count: passed, share: all === 0 ? 0 : passed / all, ...shareInterval(passed, all) },
    holds: perDay(escalate),
    blocks: perDay(block),
  };
}
