import type { BacktestProgress } from "@countersign/contract";
import { startPercentProgress } from "../percent-progress.ts";
import type { Output } from "../terminal.ts";

/** `waiting` takes a pause in seconds that the service requested; null ends it. */
export function startBacktestProgress(stream: Output): {
  report(progress: BacktestProgress): void;
  waiting(seconds: number | null): void;
  end(): void;
} {
  const progress = startPercentProgress(stream);
  const text = ({ state, evaluated }: BacktestProgress) =>
    state === "waiting" ? "waiting for other backtests" : `${evaluated.toLocaleString("en-US")} intents`;
  return {
    report: (each) => progress.report(each.done, text(each)),
    waiting: (seconds) => progress.waiting(seconds === null ? null : `waiting ${seconds} s for the rate limit`),
    end: progress.end,
  };
}
