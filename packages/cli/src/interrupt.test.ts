import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { onInterrupt } from "./interrupt.ts";

test.each(["SIGINT", "SIGTERM", "SIGHUP"])(
  "the first %s interrupts a command, a second one ends the program",
  (signal) => {
    const signals = new EventEmitter();
    let interrupted = 0;
    onInterrupt({ signals }, () => (interrupted += 1));
    expect([signals.emit(signal), signals.emit(signal), interrupted]).toEqual([true, false, 1]);
  },
);

test("after the interruptible part every signal ends the program", () => {
  const signals = new EventEmitter();
  const end = onInterrupt({ signals }, () => undefined);
  end();
  expect(signals.eventNames()).toEqual([]);
});
