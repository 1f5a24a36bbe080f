import { afterEach, expect, test, vi } from "vitest";
import { reportProgress } from "./progress.ts";

afterEach(() => void vi.useRealTimers());

test("progress comes at once and after each interval, grows, and ends with the wait", () => {
  vi.useFakeTimers();
  const sent: unknown[] = [];
  const end = reportProgress({ _meta: { progressToken: "p" } }, 5_000, ({ params }) => sent.push(params));
  expect(sent).toMatchObject([{ progressToken: "p", progress: 0.001 }]);
  vi.advanceTimersByTime(10_000);
  expect(sent).toMatchObject([{}, { progress: 0.002 }, { progress: 0.003 }]);
  end();
  vi.advanceTimersByTime(60_000);
  expect(sent).toHaveLength(3);
});

test("a call without a progress token gets none", () => {
  const answer = vi.fn();
  reportProgress({}, 5_000, answer)();
  expect(answer).not.toHaveBeenCalled();
});
