import {
  type Assurance,
  type Backtest,
  limits,
  type NotReproducedBecause,
  type Outcome,
  type Verdict,
} from "@countersign/contract";
import { strictness } from "../deciding/decision.ts";
import { shareInterval } from "../readiness/intervals.ts";
import { formatTimestampUs, us_per_day } from "../time.ts";
import { type Flip, FlipGroups, type GroupedFlips } from "./flip-groups.ts";
import type { ReplayedDecision } from "./replay.ts";

export interface Replayed {
  readonly intent_id: string;
  readonly agent_id: string;
  /** Time of the recorded decision. */
  readonly at_us: number;
  readonly mode: string;
  readonly recorded: Verdict;
  readonly decision: ReplayedDecision;
  /** The ruling of a reviewer or of the overriding person. */
  readonly ruled: Outcome | null;
  /** Called for flips only. Undefined: no figure. */
  readonly amount_usd: () => number | undefined;
}

export type BacktestFigures = Omit<Backtest, "backtest_id" | "elapsed_ms">;

type VerdictCounts = Record<Verdict, number>;

type PolicyCounts = Omit<Backtest["per_policy"][number], "policy">;

const noVerdicts = (): VerdictCounts => ({ approve: 0, approve_modified: 0, escalate: 0, block: 0 });

const separator = "\0";

/** Computed indexes make the number of paths unbounded. */
const paths_max = 10_000;

/** Plain data that may cross threads. */
export interface TallyCounts {
  readonly days: ReadonlySet<number>;
  readonly flip_groups: ReadonlyMap<string, GroupedFlips>;
  /** Key: path, and a policy that asked for it. */
  readonly asked: ReadonlyMap<string, number>;
  readonly evaluated: number;
  readonly met: number;
  readonly not_met: number;
  readonly flips_total: number;
  readonly rulings: number;
  readonly agreed: number;
  readonly verdicts: Readonly<Record<"recorded" | "candidate", VerdictCounts>>;
  readonly transitions: ReadonlyMap<string, { readonly from: Verdict; readonly to: Verdict; readonly count: number }>;
  readonly flips: Backtest["flips"];
  readonly not_reproduced: Backtest["not_reproduced"]["intents"];
  readonly policies: ReadonlyMap<string, PolicyCounts>;
  /** Key: path, plus assurance if it was too low. */
  readonly paths: ReadonlyMap<string, number>;
}

function newestFirst(a: { readonly intent_id: string }, b: { readonly intent_id: string }): number {
  return a.intent_id < b.intent_id ? 1 : -1;
}

/** Lists that grow from old to new may have this many entries before they are cut. */
const uncut_max = 2 * limits.backtest_flips_max;

/** Counts backtest results in bounded memory. */
export class Tally {
  evaluated = 0;
  private readonly tried_candidate: boolean;
  private readonly order: "newest_first" | "oldest_first";
  private met = 0;
  private not_met = 0;
  private flips_total = 0;
  private rulings = 0;
  private agreed = 0;
  private readonly verdicts = { recorded: noVerdicts(), candidate: noVerdicts() };
  private readonly days = new Set<number>();
  private readonly transitions = new Map<string, { from: Verdict; to: Verdict; count: number }>();
  private readonly flips: Backtest["flips"] = [];
  private readonly groups = new FlipGroups();
  private readonly unexplained: Unexplained[] = [];
  private readonly not_reproduced: Backtest["not_reproduced"]["intents"] = [];
  private readonly policies = new Map<string, PolicyCounts>();
  private readonly paths = new Map<string, number>();
  private readonly asked = new Map<string, number>();

  /** `order`: of the intents that are added. */
  constructor(tried_candidate: boolean, order: "newest_first" | "oldest_first" = "newest_first") {
    this.tried_candidate = tried_candidate;
    this.order = order;
  }

  static joined(tried_candidate: boolean, counts: readonly TallyCounts[]): Tally {
    const joined = new Tally(tried_candidate);
    for (const each of counts) joined.join(each);
    joined.flips.sort(newestFirst).splice(limits.backtest_flips_max);
    joined.not_reproduced.sort(newestFirst).splice(limits.backtest_flips_max);
    return joined;
  }

  counts(): TallyCounts {
    const { evaluated, met, not_met, flips_total, rulings, agreed, verdicts, days } = this;
    const { transitions, flips, not_reproduced, policies, paths, asked } = this;
    return {
      flip_groups: this.groups.groups,
      verdicts,
      days,
      asked,
      evaluated,
      met,
      not_met,
      flips_total,
      rulings,
      agreed,
      transitions,
      flips,
      not_reproduced,
      policies,
      paths,
    };
  }

  private join(other: TallyCounts): void {
    for (const name of ["evaluated", "met", "not_met", "flips_total", "rulings", "agreed"] as const)
      this[name] += other[name];
    for (const side of ["recorded", "candidate"] as const)
      for (const verdict of Object.keys(strictness) as Verdict[])
        this.verdicts[side][verdict] += other.verdicts[side][verdict];
    for (const day of other.days) this.days.add(day);
    for (const group of other.flip_groups.values()) this.groups.join(group);
    for (const [key, { from, to, count }] of other.transitions)
      this.transitions.set(key, { from, to, count: count + (this.transitions.get(key)?.count ?? 0) });
    for (const [name, { fired, decisive, unknown }] of other.policies) {
      const known = this.policies.get(name);
      this.policies.set(name, {
        fired: fired + (known?.fired ?? 0),
        decisive: decisive + (known?.decisive ?? 0),
        unknown: unknown + (known?.unknown ?? 0),
      });
    }
    for (const [path, count] of other.paths) this.paths.set(path, count + (this.paths.get(path) ?? 0));
    for (const [key, count] of other.asked) this.asked.set(key, count + (this.asked.get(key) ?? 0));
    this.flips.push(...other.flips);
    this.not_reproduced.push(...other.not_reproduced);
  }

  add(replayed: Replayed): void {
    const { recorded: from, decision, mode, ruled } = replayed;
    const to = decision.verdict;
    this.evaluated += 1;
    const key = `${from} ${to}`;
    const transition = this.transitions.get(key);
    if (transition === undefined) this.transitions.set(key, { from, to, count: 1 });
    else transition.count += 1;
    if (mode !== "test") {
      this.verdicts.recorded[from] += 1;
      this.verdicts.candidate[to] += 1;
      this.days.add(Math.floor(replayed.at_us / us_per_day));
    }
    if (ruled !== null && to !== "escalate") {
      this.rulings += 1;
      if ((ruled === "block") === (to === "block")) this.agreed += 1;
    }
    this.countReasons(decision);
    if (from === to) this.met += 1;
    else {
      this.flip(replayed);
      if (!this.tried_candidate) this.miss(replayed.intent_id, from, to, "verdict_differs");
    }
  }

  addUnreplayed(intent_id: string, recorded: Verdict, because: NotReproducedBecause): void {
    this.evaluated += 1;
    this.miss(intent_id, recorded, null, because);
  }

  /** Takes the flips to an approval since the last call. `decidingOf` reads the policies of their recorded verdicts. */
  async explain(decidingOf: (intent_ids: string[]) => Promise<ReadonlyMap<string, readonly string[]>>): Promise<void> {
    const flips = this.unexplained.splice(0);
    if (flips.length === 0) return;
    const deciding = await decidingOf(flips.map(({ flip: { intent_id } }) => intent_id));
    for (const { flip, listed } of flips) {
      const policies = deciding.get(flip.intent_id) ?? [];
      listed?.policies.push(...policies);
      this.groups.add(flip, policies);
    }
  }

  /** `days_us`: replayed window in microseconds. */
  figures(days_us: number): BacktestFigures {
    const days = Math.max(days_us, 1) / us_per_day;
    const perDay = (count: number) => Number((count / days).toPrecision(6));
    const both = this.met + this.not_met;
    const asking = askingPolicies(this.asked);
    return {
      evaluated: this.evaluated,
      reproduced: this.tried_candidate || both === 0 ? null : this.met / both,
      not_reproduced: { total: this.not_met, intents: this.not_reproduced },
      transitions: [...this.transitions.values()].sort(
        (a, b) => strictness[a.from] - strictness[b.from] || strictness[a.to] - strictness[b.to],
      ),
      flips: this.flips,
      flips_total: this.flips_total,
      flip_groups: this.groups.list(),
      verdicts: { days, days_seen: this.days.size, ...this.verdicts },
      per_policy: [...this.policies]
        .map(([policy, counts]) => ({ policy, ...counts }))
        .sort((a, b) => b.fired - a.fired || (a.policy < b.policy ? -1 : 1)),
      unknown_facts: [...this.paths]
        .map(([key, count]) => ({ ...unknownFact(key), count, policies: asking.get(key) ?? [] }))
        .sort((a, b) => b.count - a.count || (a.path < b.path ? -1 : 1))
        .slice(0, limits.backtest_unknown_facts_max),
      escalations_per_day: {
        recorded: perDay(this.verdicts.recorded.escalate),
        candidate: perDay(this.verdicts.candidate.escalate),
      },
      agrees_with_reviewers: {
        rulings: this.rulings,
        agreed: this.agreed,
        share: this.rulings === 0 ? null : this.agreed / this.rulings,
        ...shareInterval(this.agreed, this.rulings),
      },
      human_agreement: this.rulings === 0 ? null : this.agreed / this.rulings,
    };
  }

  private countReasons({ verdict, bare_reasons }: ReplayedDecision): void {
    const all = bare_reasons();
    // A policy with two reasons counts once.
    const seen = all.length > 1 ? new Set<string>() : null;
    for (const { policy, effect, unknown } of all) {
      const counts = this.policies.get(policy) ?? { fired: 0, decisive: 0, unknown: 0 };
      if (counts.fired === 0) this.policies.set(policy, counts);
      const count = (what: keyof PolicyCounts) => {
        const key = `${what} ${policy}`;
        if (seen?.has(key)) return;
        seen?.add(key);
        counts[what] += 1;
      };
      count("fired");
      if (effect === verdict) count("decisive");
      if (unknown.length > 0) count("unknown");
      for (const { path, assurance } of unknown) {
        const key = assurance === undefined ? path : `${path}${separator}${assurance}`;
        increase(this.paths, key);
        increase(this.asked, JSON.stringify([key, policy]));
      }
    }
  }

  private flip({ intent_id, agent_id, at_us, recorded: from, decision, amount_usd }: Replayed): void {
    this.flips_total += 1;
    const { verdict: to, action } = decision;
    const flip: Flip = { intent_id, from, to, amount_usd: amount_usd() };
    const listed = this.hasRoom(this.flips) ? listedFlip() : null;
    if (listed !== null) this.flips.push(listed);
    if (to === "approve") this.unexplained.push({ flip, listed });
    else this.groups.add(flip, listed?.policies ?? policiesFor(to, decision.bare_reasons()));

    function listedFlip(): Backtest["flips"][number] {
      const reasons = decision.reasons();
      const shown = reasons.slice(0, 20).map(({ policy, effect, message }) => ({ policy, effect, message }));
      const submitted_at = formatTimestampUs(at_us);
      return {
        intent_id,
        submitted_at,
        agent_id,
        action,
        from,
        to,
        policies: policiesFor(to, reasons),
        reasons: shown,
      };
    }
  }

  private miss(intent_id: string, recorded: Verdict, replayed: Verdict | null, because: NotReproducedBecause): void {
    this.not_met += 1;
    if (this.hasRoom(this.not_reproduced)) this.not_reproduced.push({ intent_id, recorded, replayed, because });
  }

  /** Keeps the newest entries of a list. */
  private hasRoom(list: unknown[]): boolean {
    if (this.order === "newest_first") return list.length < limits.backtest_flips_max;
    if (list.length >= uncut_max) list.splice(0, limits.backtest_flips_max);
    return true;
  }
}

/** Returns for each key of a path the policies that asked for it most often. */
function askingPolicies(asked: ReadonlyMap<string, number>): ReadonlyMap<string, string[]> {
  const found = new Map<string, string[]>();
  const often = [...asked].sort(([a, of_a], [b, of_b]) => of_b - of_a || (a < b ? -1 : 1));
  for (const [pair] of often) {
    const [key, policy] = JSON.parse(pair) as [string, string];
    const policies = found.get(key) ?? [];
    if (policies.length < limits.backtest_asking_policies_max) found.set(key, [...policies, policy]);
  }
  return found;
}

interface Unexplained {
  readonly flip: Flip;
  /** Null: the list of flips had no room. */
  readonly listed: Backtest["flips"][number] | null;
}

function policiesFor(
  verdict: Verdict,
  reasons: readonly { readonly policy: string; readonly effect: string }[],
): string[] {
  return [...new Set(reasons.filter(({ effect }) => effect === verdict).map(({ policy }) => policy))];
}

/** Counts a key unless the counts are full. */
function increase(counts: Map<string, number>, key: string): void {
  const count = counts.get(key);
  if (count !== undefined || counts.size < paths_max) counts.set(key, (count ?? 0) + 1);
}

function unknownFact(key: string): { readonly path: string; readonly assurance?: Assurance } {
  const [path = "", assurance] = key.split(separator);
  return assurance === undefined ? { path } : { path, assurance: assurance as Assurance };
}
