/** Shows how far a backtest is: a bar on a terminal, else a line every few seconds. Writes to standard error only. */
import type { BacktestProgress } from "@countersign/contract";
import { SingleBar } from "cli-progress";

const lineEvery_ms = 5_000;

/** Call `told` with what the service says, and `end` when it is done. */
export function startBacktestProgress(stream: NodeJS.WriteStream): {
  told(progress: BacktestProgress): void;
  end(): void;
} {
  const text = ({ state, evaluated }: BacktestProgress) =>
    state === "waiting" ? "waiting for other backtests" : `${evaluated.toLocaleString("en-US")} intents`;
  if (!stream.isTTY) {
    let printed_ms = performance.now();
    return {
      told(progress) {
        if (performance.now() - printed_ms < lineEvery_ms) return;
        printed_ms = performance.now();
        stream.write(`${Math.floor(progress.done * 100)} %, ${text(progress)}\n`);
      },
      end: () => undefined,
    };
  }
  const format = "{bar} {percentage} % {text}";
  const drawn = new SingleBar({ format, stream, barsize: 30, hideCursor: true, fps: 10, clearOnComplete: true });
  drawn.start(100, 0, { text: "" });
  return {
    told: (progress) => drawn.update(Math.floor(progress.done * 100), { text: text(progress) }),
    end: () => drawn.stop(),
  };
}
