import { EventEmitter } from "node:events";
import { expect, onTestFinished, test, vi } from "vitest";
import { onInterrupt } from "./interrupt.ts";

class Exit extends Error {}

function interruptible() {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const signals = new EventEmitter();
  const counts = { interrupted: 0 };
  const exit = (code?: number) => {
    throw new Exit(String(code));
  };
  const end = onInterrupt({ signals, exit }, () => (counts.interrupted += 1));
  return { signals, counts, end };
}

test.each(["SIGINT", "SIGTERM", "SIGHUP"])(
  "%s interrupts once, whatever further signals follow within two seconds",
  (signal) => {
    const { signals, counts } = interruptible();
    for (const each of [signal, signal, "SIGTERM", "SIGINT"]) signals.emit(each);
    vi.advanceTimersByTime(1_999);
    signals.emit(signal);
    expect(counts.interrupted).toBe(1);
  },
);

test.each(["SIGINT", "SIGTERM", "SIGHUP"])("%s two seconds later ends the program at once with 1", (signal) => {
  const { signals, counts } = interruptible();
  signals.emit("SIGTERM");
  vi.advanceTimersByTime(2_000);
  expect(() => signals.emit(signal)).toThrow(new Exit("1"));
  expect(counts.interrupted).toBe(1);
});

test("after the interruptible part every signal ends the program", () => {
  const { signals, end } = interruptible();
  end();
  expect(signals.eventNames()).toEqual([]);
});
