/** Conditions that make a backtest fail in CI, such as `approve->block>0`. */
import type { Backtest } from "@countersign/contract";
import { CommandFailed } from "../command-failed.ts";

export interface FailOn {
  readonly text: string;
  /** `value`: the compared figure; null if the backtest has none, and `met` is then false. */
  readonly judge: (backtest: Backtest) => { readonly value: number | null; readonly met: boolean };
}

const verdicts = ["approve", "approve_modified", "escalate", "block", "any"] as const;
const figures = ["flips", "reproduced", "not_reproduced", "escalations_per_day", "human_agreement"] as const;

export const fail_on_grammar = `A condition is WHAT, one of > >= < <=, and a number, without spaces or with:
  FROM->TO              intents whose verdict changes this way; FROM and TO: ${verdicts.join(", ")}
  flips                 intents whose verdict changes at all
  reproduced            share of recorded verdicts that were reproduced (without FILE), 0 to 1
  not_reproduced        intents that could not be replayed as recorded
  escalations_per_day   escalations a day that the candidate makes
  human_agreement       share of people's rulings that the candidate agrees with, 0 to 1
FROM->TO and flips may end in %: of all intents that were replayed.`;

const transition = new RegExp(`^(${verdicts.join("|")})\\s*->\\s*(${verdicts.join("|")})$`);
const condition = /^(.*?)\s*(>=|<=|>|<)\s*(\d+(?:\.\d+)?)\s*(%?)$/;

const compare: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
};

/** Throws CommandFailed with the grammar for invalid text. */
export function parseFailOn(text: string): FailOn {
  const [, what = "", operator = "", number = "", percent = ""] = condition.exec(text.trim()) ?? [];
  const figure = figureOf(what);
  if (figure === null || (percent !== "" && !figure.counts))
    throw new CommandFailed(`--fail-on ${JSON.stringify(text)} is not a condition.\n${fail_on_grammar}`);
  const holds = compare[operator] as (a: number, b: number) => boolean;
  return {
    text,
    judge(backtest) {
      const found = figure.of(backtest);
      const value = found !== null && percent !== "" ? (100 * found) / Math.max(backtest.evaluated, 1) : found;
      return { value, met: value !== null && holds(value, Number(number)) };
    },
  };
}

function figureOf(
  what: string,
): { readonly counts: boolean; readonly of: (backtest: Backtest) => number | null } | null {
  const [, from, to] = transition.exec(what) ?? [];
  if (from !== undefined && to !== undefined) {
    const fits = (wanted: string, verdict: string) => wanted === "any" || wanted === verdict;
    return {
      counts: true,
      of: ({ transitions }) =>
        transitions
          .filter((each) => fits(from, each.from) && fits(to, each.to))
          // "any" counts changed verdicts only. "block->block" counts unchanged ones.
          .filter((each) => each.from !== each.to || (from !== "any" && to !== "any"))
          .reduce((sum, each) => sum + each.count, 0),
    };
  }
  const name = figures.find((each) => each === what);
  if (name === undefined) return null;
  const of: Readonly<Record<(typeof figures)[number], (backtest: Backtest) => number | null>> = {
    flips: ({ flips_total }) => flips_total,
    reproduced: ({ reproduced }) => reproduced,
    not_reproduced: ({ not_reproduced }) => not_reproduced.total,
    escalations_per_day: ({ escalations_per_day }) => escalations_per_day.candidate,
    human_agreement: ({ human_agreement }) => human_agreement,
  };
  return { counts: name === "flips", of: of[name] };
}
