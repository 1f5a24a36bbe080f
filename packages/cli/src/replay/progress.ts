/** Shows how far a replay is: a bar on a terminal, else a plain line every few seconds. Writes to standard error only. */
import { SingleBar } from "cli-progress";
import type { Output } from "../terminal.ts";

/** Where progress is shown. */
export interface Progress {
  /** One more call has its result. */
  step(): void;
  /** The service asked for a pause; null: going on. */
  waiting(seconds: number | null): void;
  end(): void;
}

const line_every_ms = 5_000;
const count = (n: number) => n.toLocaleString("en-US");

/** The progress of `total` calls. */
export function startProgress(total: number, stream: Output): Progress {
  return stream.isTTY ? bar(total, stream) : lines(total, stream);
}

/** "1 min 20 s", "45 s"; an empty text while nothing is known. */
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
    // While waiting, the pace so far says nothing about the time left.
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
