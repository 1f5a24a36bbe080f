/** Shows how far long work is: a bar on a terminal, else a line every few seconds. */
import { SingleBar } from "cli-progress";
import type { Output } from "./terminal.ts";

const line_every_ms = 5_000;

/**
 * Call `told` with the share of 1 that is done and what to say of it, `waiting` with what is waited for (null: going on), and
 * `end` when it is done.
 */
export function startPercentProgress(stream: Output): {
  told(done: number, text: string): void;
  waiting(text: string | null): void;
  end(): void;
} {
  if (!stream.isTTY) {
    let printed_ms = performance.now();
    return {
      told(done, text) {
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
    told: (done, text) => drawn.update(Math.floor(done * 100), { text }),
    waiting: (text) => drawn.update({ text: text ?? "" }),
    end: () => drawn.stop(),
  };
}
