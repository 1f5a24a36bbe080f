/** Shows the progress of long work: a bar on a terminal, otherwise a line every few seconds. */
import { SingleBar } from "cli-progress";
import type { Output } from "./terminal.ts";

const line_every_ms = 5_000;

/** `done` is between 0 and 1. `waiting` takes a reason to wait; null ends it. */
export function startPercentProgress(stream: Output): {
  report(done: number, text: string): void;
  waiting(text: string | null): void;
  end(): void;
} {
  if (!stream.isTTY) {
    let printed_ms = performance.now();
    return {
      report(done, text) {
        if (performance.now() - printed_ms < line_every_ms) return;
        printed_ms = performance.now();
        stream.write(`${Math.floor(done * 100)} %, ${text}\n`);
      },
      waiting: (text) => void (text === null || stream.write(`${text}\n`)),
      end: () => undefined,
    };
  }
  const format = "{bar} {percentage} % {text}";
  const drawn = new SingleBar({ format, stream, barsize: 30, hideCursor: true, fps: 10, clearOnComplete: true });
  drawn.start(100, 0, { text: "" });
  return {
    report: (done, text) => drawn.update(Math.floor(done * 100), { text }),
    waiting: (text) => drawn.update({ text: text ?? "" }),
    end: () => drawn.stop(),
  };
}
