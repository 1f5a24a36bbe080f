import { expect, test } from "vitest";
import { comparedWith } from "./compared-with.ts";

const past = (identifier: string | null, amount_usd?: number) => ({
  ...(amount_usd === undefined ? {} : { amount_usd }),
  action: {
    type: "payment.refund",
    verb: "refund",
    summary: null,
    target: identifier === null ? null : { identifier },
  },
});

test("compares an amount with the median of earlier ones, and counts those with the same target", () => {
  const earlier = [past("cus_1", 100), past("cus_2", 120), past("cus_2", 110), past("cus_3")];
  expect(comparedWith(past("cus_2", 740), earlier)).toEqual({
    amount: { usd: 740, median: 110, count: 3, times: "6.7" },
    target: { before: 2 },
  });
  expect(comparedWith(past("cus_9", 112), earlier)).toMatchObject({ amount: { times: null }, target: { before: 0 } });
});

test("says nothing about what a case does not have", () => {
  expect(comparedWith(past(null, 5), [past(null)])).toEqual({ amount: null, target: null });
  expect(comparedWith(past("a"), [past("a", 5)])).toEqual({ amount: null, target: { before: 1 } });
});
