import type { Backtest, BacktestInput, ListedBacktest } from "@countersign/contract";

export const percent = (share: number) => `${(share * 100).toFixed(1)} %`;

/** Says on how many rulings a share rests, and where the true share is. */
export function rulingsText({ rulings, agreed, share, low, high }: Backtest["agrees_with_reviewers"]): string {
  if (share === null) return "no person has ruled on any of these";
  return `${agreed.toLocaleString("en")} of ${rulings.toLocaleString("en")} rulings; 95 % sure: ${percent(low)} to ${percent(high)}`;
}

/** Says with how many rulings of people the verdicts agree, and how sure the share is. */
export function agreementText({ rulings, agreed, share, low, high }: Backtest["agrees_with_reviewers"]): string {
  if (share === null) return "no person has ruled on any of these";
  const counted = `${agreed.toLocaleString("en")} of ${rulings.toLocaleString("en")} rulings`;
  return `${percent(share)} (${percent(low)} to ${percent(high)}): ${counted}`;
}

export function windowOfDays(days: number, to_ms: number): BacktestInput["window"] {
  return { from: new Date(to_ms - days * 86_400_000).toISOString(), to: new Date(to_ms).toISOString() };
}

/** Names what a backtest tried. */
export function candidateText(candidate: ListedBacktest["candidate"]): string {
  if (candidate === null) return "as recorded";
  const { policies, packs, thresholds, without } = candidate;
  const thresholdText = (name: string, value: number | null | undefined) =>
    value === undefined ? [] : [`${name} at ${value ?? "no"} risk`];
  return [
    ...policies,
    ...(packs === null ? [] : [packs.length === 0 ? "no packs" : `packs ${packs.join(", ")}`]),
    ...thresholdText("escalate", thresholds?.escalate_at),
    ...thresholdText("block", thresholds?.block_at),
    ...without.map((name) => `without ${name}`),
  ].join("; ");
}
