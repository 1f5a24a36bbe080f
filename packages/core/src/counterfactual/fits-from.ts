import type { Program } from "@countersign/cel";
import { micros_per_unit, microsOf } from "../counters/amount.ts";
import type { CompiledPolicy } from "../policy/compile.ts";
import { type Condition, type CountedClue, conditionsOf } from "./condition.ts";
import { resultOf, type Situation } from "./remedies.ts";

/** The condition has the wanted value already. */
const already = 0;

/**
 * Returns the time from which a policy no longer fires because earlier actions leave the windows of its counters: 0 if it does not
 * fire now, null if never. Only the counters change until then.
 */
export function fitsFromUs(policy: CompiledPolicy, situation: Situation): number | null {
  const { when, require } = conditionsOf(policy);
  const wait = new Wait(policy, situation);
  return earliest([
    when === null ? null : wait.untilUs(when, false),
    require === null ? null : wait.untilUs(require, true),
  ]);
}

class Wait {
  private readonly policy: CompiledPolicy;
  private readonly situation: Situation;

  constructor(policy: CompiledPolicy, situation: Situation) {
    this.policy = policy;
    this.situation = situation;
  }

  untilUs(condition: Condition, want: boolean): number | null {
    switch (condition.kind) {
      case "leaf": {
        if (this.value(condition.program) === want) return already;
        return earliest(condition.clues.map((clue) => (clue.kind === "counted" ? this.leftByUs(clue, want) : null)));
      }
      case "not":
        return this.untilUs(condition.of, !want);
      case "all":
      case "any": {
        const times = condition.of.map((part) => this.untilUs(part, want));
        return (condition.kind === "all") === want ? latest(times) : earliest(times);
      }
      case "if":
        return earliest([
          latest([this.untilUs(condition.test, true), this.untilUs(condition.yes, want)]),
          latest([this.untilUs(condition.test, false), this.untilUs(condition.no, want)]),
        ]);
      default:
        return condition satisfies never;
    }
  }

  /** Returns the time at which enough earlier actions have left the window. */
  private leftByUs({ name, field, op, count, limit }: CountedClue, want: boolean): number | null {
    const falls = op === ">" || op === ">=" ? !want : want;
    const [now, most] = [microsOf(this.shown(count)), microsOf(this.shown(limit))];
    if (!falls || now === null || most === null) return null;
    // Of the limit itself, `>` and `<=` approve.
    const step = op === ">" || op === "<=" ? 0 : 1;
    const excess = now - most;
    const by = field === "sum" ? excess + step : actionsOf(excess, step);
    return this.situation.counted(this.policy, name)?.fallsByUs(field === "sum" ? "micros" : "n", by) ?? null;
  }

  private value(program: Program): unknown {
    const bindings = this.situation.bindings(this.policy, []);
    return bindings === null ? undefined : resultOf(this.policy, program, bindings, this.situation.options);
  }

  private shown(program: Program): unknown {
    return resultOf(this.policy, program, this.situation.shown(this.policy), this.situation.options);
  }
}

function actionsOf(excess: number, step: 0 | 1): number {
  return step === 0 ? Math.ceil(excess / micros_per_unit) : Math.floor(excess / micros_per_unit) + 1;
}

/** Null is never. */
export function latest(times: readonly (number | null)[]): number | null {
  return times.includes(null) ? null : Math.max(already, ...(times as readonly number[]));
}

function earliest(times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}
