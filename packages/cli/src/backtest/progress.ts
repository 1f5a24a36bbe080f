/** Shows how far a backtest is. Writes to standard error only. */
import type { BacktestProgress } from "@countersign/contract";
import { startPercentProgress } from "../percent-progress.ts";
import type { Output } from "../terminal.ts";

/** Call `told` with what the service says, `waiting` with the pause that it asked for (null: going on), and `end` when it is done. */
export function startBacktestProgress(stream: Output): {
  told(progress: BacktestProgress): void;
  waiting(seconds: number | null): void;
  end(): void;
} {
  const progress = startPercentProgress(stream);
  const text = ({ state, evaluated }: BacktestProgress) =>
    state === "waiting" ? "waiting for other backtests" : `${evaluated.toLocaleString("en-US")} intents`;
  return {
    told: (each) => progress.told(each.done, text(each)),
    waiting: (seconds) => progress.waiting(seconds === null ? null : `waiting ${seconds} s for the rate limit`),
    end: progress.end,
  };
}
