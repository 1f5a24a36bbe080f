import type { Escalation } from "@countersign/contract";
import { medianOf } from "../group/columns.ts";

type Compared = Pick<Escalation, "amount_usd" | "action">;

export interface Comparison {
  /** `times`: rounded to one decimal; null: about the same. Null: this case or all earlier ones have no amount. */
  readonly amount: {
    readonly usd: number;
    readonly median: number;
    readonly count: number;
    readonly times: string | null;
  } | null;
  /** `before`: how many earlier ones had the same target. Null: this case has none. */
  readonly target: { readonly before: number } | null;
}

/** Differences below this share of the median are not worth a number. */
const same_share = 0.05;

export function comparedWith(escalation: Compared, earlier: readonly Compared[]): Comparison {
  const { amount_usd: usd, action } = escalation;
  const amounts = earlier.flatMap((each) => (each.amount_usd === undefined ? [] : [each.amount_usd]));
  const median = medianOf(amounts);
  const identifier = action.target?.identifier;
  const before = earlier.filter((each) => each.action.target?.identifier === identifier).length;
  return {
    amount:
      usd === undefined || median <= 0 ? null : { usd, median, count: amounts.length, times: timesOf(usd, median) },
    target: identifier === undefined ? null : { before },
  };
}

function timesOf(usd: number, median: number): string | null {
  const times = usd / median;
  if (Math.abs(times - 1) <= same_share) return null;
  return times.toLocaleString("en", { maximumFractionDigits: times < 0.1 ? 3 : 1 });
}
