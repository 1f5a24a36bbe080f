import { expect, test } from "vitest";
import { afterAttempt, judgeAnswer } from "./delivery.ts";

const failure = { response_status: 500, error: "The receiver answered 500." };

test("a failure waits 5 s after the first attempt, 25 s after the second, and ends after the third", () => {
  expect([1, 2, 3].map((number) => afterAttempt(number, failure))).toEqual([
    { status: "pending", wait_ms: 5_000 },
    { status: "pending", wait_ms: 25_000 },
    { status: "failed" },
  ]);
});

test("if any attempt succeeds, the delivery is delivered", () => {
  for (const number of [1, 2, 3]) expect(afterAttempt(number, judgeAnswer(204))).toEqual({ status: "delivered" });
});

test("no attempt number ever leads to a fourth attempt", () => {
  for (const number of [3, 4, 100]) expect(afterAttempt(number, failure)).toEqual({ status: "failed" });
});

test.each([
  [200, true],
  [204, true],
  [206, true],
  [299, true],
  [101, false],
  [300, false],
  [301, false],
  [304, false],
  [400, false],
  [410, false],
  [500, false],
])("a receiver's %i counts as delivered: %s", (status, taken) => {
  expect(judgeAnswer(status).error === null).toBe(taken);
});
