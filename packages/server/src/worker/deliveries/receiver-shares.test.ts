import { expect, test } from "vitest";
import { large_bytes } from "../../store/webhooks/delivery-queue.ts";
import type { DeliveryTerms } from "./delivery-terms.ts";
import { ReceiverShares } from "./receiver-shares.ts";

const per_webhook = { first: 8, least: 2, most: 12 };
const terms: DeliveryTerms = { slots: 100, reserve: 20, few: 4, per_webhook, per_organization: 40, lease_ms: 1_000 };
const receiver = { org_id: "org_1", webhook_id: "wh_1" };
const roomAt = (shares: ReceiverShares, org_id = "org_1") => shares.room(org_id, 0);

function begin(shares: ReceiverShares, org_id: string, count: number): void {
  for (let n = 0; n < count; n++) shares.begin({ org_id, webhook_id: `wh_${n}` });
}

test("an event accepted quickly raises the share by one up to the most, and the raised share outlives an idle moment", () => {
  const shares = new ReceiverShares(terms);
  for (let n = 1; n <= 6; n++) {
    shares.begin(receiver);
    shares.end(receiver, true, 10);
    expect(roomAt(shares).receivers).toEqual({ wh_1: Math.min(8 + n, 12) });
  }
  expect([shares.in_flight, shares.inFlightOf("org_1")]).toEqual([0, 0]);
});

test("every failure halves the share down to the least, and the receiver's share is remembered", () => {
  const shares = new ReceiverShares(terms);
  for (const share of [4, 2, 2]) {
    shares.begin(receiver);
    shares.end(receiver, false, 10_000);
    expect(roomAt(shares).receivers).toEqual({ wh_1: share });
  }
});

test("a slow success and an unsent attempt do not change the share, and leave nothing to remember", () => {
  const shares = new ReceiverShares(terms);
  shares.begin(receiver);
  shares.begin(receiver);
  expect(roomAt(shares)).toMatchObject({ receivers: { wh_1: 6 }, per_webhook: 8, lease_ms: 1_000 });
  expect(roomAt(shares, "org_2").receivers).toEqual({});
  shares.end(receiver, true, 1_001);
  shares.end(receiver, null, 0);
  expect(roomAt(shares).receivers).toEqual({});
});

test("half of the share must be free before another lease is worth its cost", () => {
  const shares = new ReceiverShares(terms);
  for (let n = 0; n < 4; n++) shares.begin(receiver);
  expect(shares.hasRoom(receiver)).toBe(true);
  shares.begin(receiver);
  expect(shares.hasRoom(receiver)).toBe(false);
});

test("of receivers with nothing in flight the latest 256 are remembered, and all with something in flight", () => {
  const shares = new ReceiverShares(terms);
  shares.begin(receiver);
  for (let n = 0; n < 300; n++) {
    const other = { org_id: "org_2", webhook_id: `wh_${n}` };
    shares.begin(other);
    shares.end(other, false, 1);
  }
  const { receivers } = roomAt(shares, "org_2");
  expect(Object.keys(receivers)).toHaveLength(255);
  expect(receivers).toMatchObject({ wh_299: 4 });
  expect(receivers).not.toHaveProperty("wh_0");
  expect(roomAt(shares).receivers).toEqual({ wh_1: 7 });
});

test("an organization has places up to its bound, and what it has in flight counts", () => {
  const shares = new ReceiverShares(terms);
  expect(shares.placesOf("org_1")).toBe(40);
  begin(shares, "org_1", 39);
  expect([shares.placesOf("org_1"), shares.placesOf("org_2")]).toEqual([1, 40]);
  shares.begin(receiver);
  expect(shares.placesOf("org_1")).toBe(0);
});

test("the reserve is for the first attempts of organizations, up to `few` in flight", () => {
  const shares = new ReceiverShares(terms);
  begin(shares, "org_1", 40);
  begin(shares, "org_2", 30);
  // 30 of 100 are free, 20 of them reserved.
  expect([shares.placesOf("org_2"), shares.placesOf("org_3")]).toEqual([10, 10]);
  begin(shares, "org_3", 3);
  begin(shares, "org_4", 9);
  // 18 are free, less than the reserve.
  expect(["org_1", "org_2", "org_3", "org_4", "org_5"].map((org_id) => shares.placesOf(org_id))).toEqual([
    ...[0, 0, 1, 0, 4],
  ]);
  begin(shares, "org_6", 16);
  expect([shares.placesOf("org_5"), shares.placesOf("org_6")]).toEqual([2, 0]);
  begin(shares, "org_7", 2);
  expect(shares.placesOf("org_5")).toBe(0);
});

test("if others wait for a turn, a lease has a share of the places, and at least `few`", () => {
  const shares = new ReceiverShares(terms);
  expect([0, 1, 3, 9, 500].map((others) => shares.room("org_1", others).places)).toEqual([40, 20, 10, 4, 4]);
  begin(shares, "org_1", 38);
  expect(shares.room("org_1", 500).places).toBe(2);
});

test("large bodies have room up to the bound of their organization and of the node; a first one may go alone", () => {
  const shares = new ReceiverShares(terms);
  const room = (org_id: string) => {
    const { large_bytes: together, lone_bytes: alone } = roomAt(shares, org_id);
    return [together, alone];
  };
  const most = large_bytes.organization;
  expect(room("org_1")).toEqual([most, Number.MAX_SAFE_INTEGER]);
  shares.begin(receiver, 100_000);
  expect(room("org_1")).toEqual([most - 100_000, 0]);
  expect(room("org_2")).toEqual([most, large_bytes.all - 100_000]);
  const other = { ...receiver, org_id: "org_3" };
  shares.begin(other, large_bytes.all - 300_000);
  expect([room("org_1"), room("org_2"), room("org_3")]).toEqual([
    [200_000, 0],
    [200_000, 200_000],
    [0, 0],
  ]);
  shares.end(other, true, 0, large_bytes.all - 300_000);
  shares.end(receiver, null, 0, 100_000);
  expect(room("org_1")).toEqual([most, Number.MAX_SAFE_INTEGER]);
});

test("a lease that claimed its room leaves the rest to another one, until it is released", () => {
  const shares = new ReceiverShares(terms);
  begin(shares, "org_1", 40);
  const release = shares.claim(shares.room("org_2", 0));
  expect([shares.placesOf("org_2"), shares.placesOf("org_3")]).toEqual([4, 4]);
  expect(roomAt(shares, "org_3")).toMatchObject({ large_bytes: 0, lone_bytes: 0 });
  release();
  expect(shares.placesOf("org_3")).toBe(40);
  expect(roomAt(shares, "org_3")).toMatchObject({ large_bytes: large_bytes.organization });
});
