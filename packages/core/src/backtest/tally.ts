import {
  type Assurance,
  type Backtest,
  limits,
  type NotReproducedBecause,
  type Outcome,
  type Verdict,
} from "@countersign/contract";
import { strictness } from "../deciding/decision.ts";
import { formatTimestampUs, us_per_day } from "../time.ts";
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
}

export type BacktestFigures = Omit<Backtest, "backtest_id" | "elapsed_ms">;

const separator = "\0";

/** Computed indexes make the number of paths unbounded. */
const paths_max = 10_000;

/** Plain data that may cross threads. */
export interface TallyCounts {
  readonly evaluated: number;
  readonly met: number;
  readonly not_met: number;
  readonly flips_total: number;
  readonly rulings: number;
  readonly agreed: number;
  readonly escalations: { readonly recorded: number; readonly candidate: number };
  readonly transitions: ReadonlyMap<string, { readonly from: Verdict; readonly to: Verdict; readonly count: number }>;
  readonly flips: Backtest["flips"];
  readonly not_reproduced: Backtest["not_reproduced"]["intents"];
  readonly policies: ReadonlyMap<string, { readonly fired: number; readonly decisive: number }>;
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
  private readonly escalations = { recorded: 0, candidate: 0 };
  private readonly transitions = new Map<string, { from: Verdict; to: Verdict; count: number }>();
  private readonly flips: Backtest["flips"] = [];
  private readonly unexplained: Backtest["flips"] = [];
  private readonly not_reproduced: Backtest["not_reproduced"]["intents"] = [];
  private readonly policies = new Map<string, { fired: number; decisive: number }>();
  private readonly paths = new Map<string, number>();

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
    const { evaluated, met, not_met, flips_total, rulings, agreed, escalations } = this;
    const { transitions, flips, not_reproduced, policies, paths } = this;
    return {
      evaluated,
      met,
      not_met,
      flips_total,
      rulings,
      agreed,
      escalations,
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
    this.escalations.recorded += other.escalations.recorded;
    this.escalations.candidate += other.escalations.candidate;
    for (const [key, { from, to, count }] of other.transitions)
      this.transitions.set(key, { from, to, count: count + (this.transitions.get(key)?.count ?? 0) });
    for (const [name, { fired, decisive }] of other.policies) {
      const known = this.policies.get(name);
      this.policies.set(name, {
        fired: fired + (known?.fired ?? 0),
        decisive: decisive + (known?.decisive ?? 0),
      });
    }
    for (const [path, count] of other.paths) this.paths.set(path, count + (this.paths.get(path) ?? 0));
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
      if (from === "escalate") this.escalations.recorded += 1;
      if (to === "escalate") this.escalations.candidate += 1;
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

  /** Returns flips to an approval since the last call. The caller adds the policies of the recorded verdict. */
  takeUnexplained(): Backtest["flips"] {
    return this.unexplained.splice(0);
  }

  /** `days_us`: replayed window in microseconds. */
  figures(days_us: number): BacktestFigures {
    const days = Math.max(days_us, 1) / us_per_day;
    const perDay = (count: number) => Number((count / days).toPrecision(6));
    const both = this.met + this.not_met;
    return {
      evaluated: this.evaluated,
      reproduced: this.tried_candidate || both === 0 ? null : this.met / both,
      not_reproduced: { total: this.not_met, intents: this.not_reproduced },
      transitions: [...this.transitions.values()].sort(
        (a, b) => strictness[a.from] - strictness[b.from] || strictness[a.to] - strictness[b.to],
      ),
      flips: this.flips,
      flips_total: this.flips_total,
      per_policy: [...this.policies]
        .map(([policy, counts]) => ({ policy, ...counts }))
        .sort((a, b) => b.fired - a.fired || (a.policy < b.policy ? -1 : 1)),
      unknown_facts: [...this.paths]
        .map(([key, count]) => ({ ...unknownFact(key), count }))
        .sort((a, b) => b.count - a.count || (a.path < b.path ? -1 : 1))
        .slice(0, limits.backtest_unknown_facts_max),
      escalations_per_day: {
        recorded: perDay(this.escalations.recorded),
        candidate: perDay(this.escalations.candidate),
      },
      human_agreement: this.rulings === 0 ? null : this.agreed / this.rulings,
    };
  }

  private countReasons({ verdict, bare_reasons }: ReplayedDecision): void {
    const all = bare_reasons();
    let counted: Set<string> | null = null;
    let decided: Set<string> | null = null;
    for (const { policy, effect, unknown } of all) {
      // A policy with two reasons counts once.
      const again: boolean = counted?.has(policy) ?? false;
      if (all.length > 1) counted = (counted ?? new Set<string>()).add(policy);
      const counts = this.policies.get(policy) ?? { fired: 0, decisive: 0 };
      if (counts.fired === 0) this.policies.set(policy, counts);
      if (!again) counts.fired += 1;
      if (effect === verdict && !(decided?.has(policy) ?? false)) {
        counts.decisive += 1;
        if (all.length > 1) decided = (decided ?? new Set<string>()).add(policy);
      }
      for (const { path, assurance } of unknown) {
        const key = assurance === undefined ? path : `${path}${separator}${assurance}`;
        const count = this.paths.get(key);
        if (count !== undefined || this.paths.size < paths_max) this.paths.set(key, (count ?? 0) + 1);
      }
    }
  }

  private flip({ intent_id, agent_id, at_us, recorded: from, decision }: Replayed): void {
    this.flips_total += 1;
    if (!this.hasRoom(this.flips)) return;
    const { verdict: to, action } = decision;
    const reasons = decision.reasons();
    const policies = [...new Set(reasons.filter(({ effect }) => effect === to).map(({ policy }) => policy))];
    const told = reasons.slice(0, 20).map(({ policy, effect, message }) => ({ policy, effect, message }));
    const submitted_at = formatTimestampUs(at_us);
    const flip = { intent_id, submitted_at, agent_id, action, from, to, policies, reasons: told };
    this.flips.push(flip);
    if (to === "approve") this.unexplained.push(flip);
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

function unknownFact(key: string): { readonly path: string; readonly assurance?: Assurance } {
  const [path = "", assurance] = key.split(separator);
  return assurance === undefined ? { path } : { path, assurance: assurance as Assurance };
}
