/** `value` is from 0 to 1. */
export interface RiskContribution {
  readonly source: string;
  readonly group: string;
  readonly value: number;
}

/** Score from 0 to 1 with four decimals. */
export interface Risk {
  readonly score: number;
  readonly contributions: readonly RiskContribution[];
}

const none: Risk = Object.freeze({ score: 0, contributions: Object.freeze([]) });

/**
 * Noisy-or: `1 − ∏(1 − r)` over groups, where r is the greatest value of the group. Groups are multiplied in name
 * order, because floating-point products depend on the order.
 */
export function riskScore(contributions: readonly RiskContribution[]): number {
  return scoreOf(contributions.length < 2 ? contributions : [...contributions].sort(byGroup));
}

export function combineRisk(contributions: readonly RiskContribution[]): Risk {
  if (contributions.length === 0) return none;
  const sorted = [...contributions].sort(byGroup);
  const shown = sorted.map(({ source, group, value }) => ({ source, group, value: fourDecimals(value) }));
  return { score: scoreOf(sorted), contributions: shown };
}

function scoreOf(sorted: readonly RiskContribution[]): number {
  let safe = 1;
  let group = "";
  let greatest = 0;
  for (const contribution of sorted) {
    if (contribution.group !== group) {
      safe *= 1 - greatest;
      group = contribution.group;
      greatest = 0;
    }
    greatest = Math.max(greatest, contribution.value);
  }
  safe *= 1 - greatest;
  return fourDecimals(1 - safe);
}

export function fourDecimals(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

function byGroup(a: RiskContribution, b: RiskContribution): number {
  if (a.group !== b.group) return a.group < b.group ? -1 : 1;
  if (a.source !== b.source) return a.source < b.source ? -1 : 1;
  return a.value - b.value;
}
