/** Shares of receivers: growth, halving, what is remembered. */
import { expect, test } from "vitest";
import { ReceiverShares } from "./receiver-shares.ts";

const terms = { first: 8, least: 2, most: 12 };
const receiver = { org_id: "org_1", webhook_id: "wh_1" };
const key = "org_1 wh_1";

test("an event taken quickly raises the share by one up to the most, and the raised share outlives an idle moment", () => {
  const shares = new ReceiverShares(terms);
  for (let n = 1; n <= 6; n++) {
    shares.begin(receiver);
    shares.end(receiver, true, 10);
    expect(shares.room().receivers[key]).toEqual([0, Math.min(8 + n, 12)]);
  }
  expect(shares.in_flight).toBe(0);
  expect(shares.room().organizations).toEqual({});
});

test("every failure halves the share down to the least, and the receiver is remembered as such", () => {
  const shares = new ReceiverShares(terms);
  for (const share of [4, 2, 2]) {
    shares.begin(receiver);
    shares.end(receiver, false, 10_000);
    expect(shares.room().receivers[key]).toEqual([0, share]);
  }
});

test("a slow success and an attempt that was never sent leave the share as it is, and nothing to remember", () => {
  const shares = new ReceiverShares(terms);
  shares.begin(receiver);
  shares.begin(receiver);
  expect(shares.room()).toEqual({ receivers: { [key]: [2, 8] }, organizations: { org_1: 2 }, per_webhook: 8 });
  shares.end(receiver, true, 1_001);
  shares.end(receiver, null, 0);
  expect(shares.room().receivers).toEqual({});
});

test("half of the share must be free before another lease is worth its cost", () => {
  const shares = new ReceiverShares(terms);
  for (let n = 0; n < 4; n++) shares.begin(receiver);
  expect(shares.hasRoom(receiver)).toBe(true);
  shares.begin(receiver);
  expect(shares.hasRoom(receiver)).toBe(false);
});

test("of receivers with nothing in flight the latest 256 are remembered, and those with something all are", () => {
  const shares = new ReceiverShares(terms);
  shares.begin(receiver);
  for (let n = 0; n < 300; n++) {
    const other = { org_id: "org_2", webhook_id: `wh_${n}` };
    shares.begin(other);
    shares.end(other, false, 1);
  }
  const { receivers } = shares.room();
  expect(Object.keys(receivers)).toHaveLength(256);
  expect(receivers[key]).toEqual([1, 8]);
  expect(receivers["org_2 wh_299"]).toEqual([0, 4]);
  expect(receivers["org_2 wh_0"]).toBeUndefined();
});

test("what large bodies are in flight is known by organization and of all, until they end", () => {
  const shares = new ReceiverShares(terms);
  const other = { ...receiver, org_id: "org_2" };
  shares.begin(receiver, 100_000);
  shares.begin(receiver, 200_000);
  shares.begin(other, 70_000);
  expect(shares.room().large).toEqual({ org_1: 300_000, org_2: 70_000, all: 370_000 });
  shares.end(receiver, true, 0, 200_000);
  shares.end(other, false, 0, 70_000);
  expect(shares.room().large).toEqual({ org_1: 100_000, all: 100_000 });
  shares.end(receiver, null, 0, 100_000);
  expect(shares.room().large).toBeUndefined();
});
