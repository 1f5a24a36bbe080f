/** Shows the progress of a replay: a bar on a terminal, otherwise a line every few seconds. */
import { SingleBar } from "cli-progress";
import type { Output } from "../terminal.ts";

export interface Progress {
  step(): void;
  /** Shows a pause that the service requested; null ends it. */
  waiting(seconds: number | null): void;
  end(): void;
}

const line_every_ms = 5_000;
const count = (n: number) => n.toLocaleString("en-US");

export function startProgress(total: number, stream: Output): Progress {
  return stream.isTTY ? bar(total, stream) : lines(total, stream);
}

/** Returns "1 min 20 s" or "45 s"; empty if nothing is known. */
function timeLeft(done: number, total: number, elapsed_ms: number): string {
  if (done === 0 || elapsed_ms < 1_000) return "";
  const seconds = Math.ceil(((total - done) / done) * (elapsed_ms / 1000));
  return seconds < 60 ? `${seconds} s left` : `${Math.floor(seconds / 60)} min ${seconds % 60} s left`;
}

function bar(total: number, stream: Output): Progress {
  const from_ms = performance.now();
  let done = 0;
  let pause = "";
  const format = "{bar} {value}/{total} {left}{pause}";
  const drawn = new SingleBar({ format, stream, barsize: 30, hideCursor: true, fps: 10, clearOnComplete: true });
  const draw = () => {
    const left = pause === "" ? timeLeft(done, total, performance.now() - from_ms) : "";
    drawn.update(done, { left, pause });
  };
  drawn.start(total, 0, { left: "", pause: "" });
  return {
    step: () => {
      done += 1;
      draw();
    },
    waiting: (seconds) => {
      pause = seconds === null ? "" : `waiting ${seconds} s for the rate limit`;
      draw();
    },
    end: () => drawn.stop(),
  };
}

function lines(total: number, stream: Output): Progress {
  const from_ms = performance.now();
  let done = 0;
  let printed_ms = from_ms;
  const print = (note: string) => {
    printed_ms = performance.now();
    // During a wait, the earlier pace does not predict the remaining time.
    const rest = note === "" ? timeLeft(done, total, printed_ms - from_ms) : note;
    const parts = [`${count(done)} of ${count(total)} calls`, rest].filter((part) => part !== "");
    stream.write(`${parts.join(", ")}\n`);
  };
  return {
    step: () => {
      done += 1;
      if (performance.now() - printed_ms > line_every_ms) print("");
    },
    waiting: (seconds) => {
      if (seconds !== null) print(`waiting ${seconds} s for the rate limit`);
    },
    end: () => {},
  };
}
