/** Shows how far a backtest is. Writes to standard error only. */
import type { BacktestProgress } from "@countersign/contract";
import { startPercentProgress } from "../percent-progress.ts";

/** Call `told` with what the service says, and `end` when it is done. */
export function startBacktestProgress(stream: NodeJS.WriteStream): {
  told(progress: BacktestProgress): void;
  end(): void;
} {
  const progress = startPercentProgress(stream);
  const text = ({ state, evaluated }: BacktestProgress) =>
    state === "waiting" ? "waiting for other backtests" : `${evaluated.toLocaleString("en-US")} intents`;
  return { told: (each) => progress.told(each.done, text(each)), end: progress.end };
}
