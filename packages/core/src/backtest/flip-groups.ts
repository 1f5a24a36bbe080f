import { type Backtest, limits, type Verdict } from "@countersign/contract";
import { strictness } from "../deciding/decision.ts";

type Group = Backtest["flip_groups"][number];

/** Flips of one group. Plain data that may cross threads. */
export interface GroupedFlips extends Omit<Group, "amount_usd"> {
  /** In millionths, so that the order of additions does not matter. */
  readonly amount_micros: number;
}

export interface Flip {
  readonly intent_id: string;
  readonly from: Verdict;
  readonly to: Verdict;
  readonly amount_usd: number | undefined;
}

/** Candidates may have many policies, so the number of groups has a limit. Further flips are in groups without policies. */
const groups_max = 10_000;

/** Groups flips by policies and verdicts, in bounded memory. */
export class FlipGroups {
  readonly groups: Map<string, GroupedFlips> = new Map();

  add({ intent_id, from, to, amount_usd = 0 }: Flip, policies: readonly string[]): void {
    const amount_micros = Math.round(amount_usd * 1e6);
    this.join({ policies: [...policies].sort(), from, to, count: 1, amount_micros, examples: [intent_id] });
  }

  join(flips: GroupedFlips): void {
    const { from, to } = flips;
    const named = keyOf(flips);
    const policies = this.groups.size < groups_max || this.groups.has(named) ? flips.policies : [];
    const key = keyOf({ policies, from, to });
    const known = this.groups.get(key) ?? { count: 0, amount_micros: 0, examples: [] };
    const examples = [...known.examples, ...flips.examples].sort().reverse();
    this.groups.set(key, {
      ...{ policies, from, to },
      count: known.count + flips.count,
      amount_micros: known.amount_micros + flips.amount_micros,
      examples: examples.slice(0, limits.backtest_flip_examples_max),
    });
  }

  /** Most flips first; further groups are one group without policies for each pair of verdicts. */
  list(): Backtest["flip_groups"] {
    const sorted = [...this.groups.values()].sort(byCount);
    const pairs_max = 12;
    const cut =
      sorted.length <= limits.backtest_flip_groups_max ? sorted.length : limits.backtest_flip_groups_max - pairs_max;
    const rest = new FlipGroups();
    for (const group of sorted.slice(0, cut)) if (group.policies.length === 0) rest.join(group);
    for (const group of sorted.slice(cut)) rest.join({ ...group, policies: [] });
    return [...sorted.slice(0, cut).filter(({ policies }) => policies.length > 0), ...rest.groups.values()]
      .sort(byCount)
      .map(({ amount_micros, ...group }) => ({ ...group, amount_usd: amount_micros / 1e6 }));
  }
}

function keyOf({ policies, from, to }: Pick<Group, "policies" | "from" | "to">): string {
  return JSON.stringify([from, to, policies]);
}

function byCount(a: GroupedFlips, b: GroupedFlips): number {
  return (
    b.count - a.count ||
    strictness[a.from] - strictness[b.from] ||
    strictness[a.to] - strictness[b.to] ||
    (a.policies.join() < b.policies.join() ? -1 : 1)
  );
}
