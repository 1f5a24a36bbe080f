import { expect, test, vi } from "vitest";
import { unansweredKeys } from "./unanswered-keys.ts";

test("keeps the key of the first attempt for ten minutes, also if an earlier equal request was answered", () => {
  vi.useFakeTimers();
  try {
    const keys = unansweredKeys();
    expect(keys.keyOf("POST", "first")).toBe("first");
    keys.answered("POST");
    vi.advanceTimersByTime(8 * 60_000);
    expect(keys.keyOf("POST", "second")).toBe("second");
    vi.advanceTimersByTime(9 * 60_000);
    expect(keys.keyOf("POST", "third")).toBe("second");
    vi.advanceTimersByTime(60_000);
    expect(keys.keyOf("POST", "fourth")).toBe("fourth");
  } finally {
    vi.useRealTimers();
  }
});
