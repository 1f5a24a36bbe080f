import type { Escalation } from "@countersign/contract";
import { describe, expect, test } from "vitest";
import type { ReviewDemand } from "../policy/escalation-terms.ts";
import type { Review } from "./escalation.ts";
import { panelsOf } from "./panels.ts";
import { countedDemand, nextNoticeAt, noticesOf, openTiers } from "./tiers.ts";

const at = (time: string) => `2026-11-21T${time}.000000Z`;
const role = (id: string) => ({ type: "role" as const, id });
const wires: ReviewDemand = {
  ...{ policy: "wires", reviewers: [role("admin")], quorum: 1 },
  tier: { after_seconds: 1_800, reviewers: [role("operator"), role("admin")] },
};
const plain: ReviewDemand = { policy: "plain", reviewers: [role("admin")], quorum: 1 };

function review(demands: readonly ReviewDemand[], expires_at = at("11:00:00")): Review {
  const counted = demands.map((demand) => countedDemand(demand, at("10:00:00"), expires_at));
  const record = { status: "pending", created_at: at("10:00:00"), expires_at, reviewers: [role("admin")] };
  return {
    record: { ...record, panels: panelsOf(counted, expires_at) } as unknown as Escalation,
    ruling: null,
    demands: counted,
  };
}

function timed(demands: readonly ReviewDemand[], expires_at?: string) {
  const { record, demands: counted } = review(demands, expires_at);
  return { ...record, demands: counted };
}

describe("a second tier", () => {
  test("joins the panel of its own rule when its time has come, and the people who may vote", () => {
    const before = review([wires, plain]);
    expect(openTiers(before, at("10:29:59"))).toEqual(before);
    const { record, demands } = openTiers(before, at("10:30:00"));
    expect(record.reviewers).toEqual([role("admin"), role("operator")]);
    expect(record.panels.map(({ reviewers, tier }) => ({ reviewers, tier }))).toEqual([
      {
        reviewers: [role("admin"), role("operator")],
        tier: { reviewers: [role("operator"), role("admin")], opens_at: at("10:30:00") },
      },
      { reviewers: [role("admin")], tier: undefined },
    ]);
    expect(openTiers({ ...before, record, demands }, at("10:40:00"))).toEqual({ ...before, record, demands });
  });

  test("stays closed if the panel is met or the review is closed", () => {
    const open = review([wires]);
    const met = { ...open, demands: open.demands.map((demand) => ({ ...demand, approved_by: ["usr_1"] })) };
    const closed = { ...open, record: { ...open.record, status: "decided" as const } };
    for (const each of [met, closed]) expect(openTiers(each, at("10:59:00")).record.reviewers).toEqual([role("admin")]);
  });

  test("is omitted if it would open at or after the end of the review", () => {
    expect(review([wires], at("10:30:00")).record.panels[0]?.tier).toBe(undefined);
    expect(review([wires], at("10:30:01")).record.panels[0]?.tier).toBeDefined();
  });

  test("moves with the end of the review", () => {
    const { record, demands, ruling } = review([wires]);
    const moved = { record: { ...record, expires_at: at("12:00:00") }, demands, ruling };
    const opened = ["11:29:59", "11:30:00"].map((time) => openTiers(moved, at(time)).record);
    expect(opened.map(({ reviewers }) => reviewers.length)).toEqual([1, 2]);
    expect(opened[0]?.panels[0]?.tier?.opens_at).toBe(at("11:30:00"));
  });

  test("adds nobody to a panel that any reviewer may meet", () => {
    const anybody = review([{ ...wires, reviewers: [] }]);
    expect(openTiers(anybody, at("10:30:00")).demands[0]?.reviewers).toEqual([]);
  });
});

describe("notices", () => {
  test("come at half of the time, with a tenth left, and when a tier opens", () => {
    expect(noticesOf(timed([wires], at("20:00:00")))).toEqual([
      { kind: "tier", at: at("10:30:00"), policy: "wires" },
      { kind: "half", at: at("15:00:00") },
      { kind: "tenth", at: at("19:00:00") },
    ]);
  });

  test("a review of less than 10 minutes has no reminders", () => {
    expect(noticesOf(timed([plain], at("10:09:59")))).toEqual([]);
    expect(noticesOf(timed([plain], at("10:10:00")))).toHaveLength(2);
  });

  test("the next one is the first after a moment", () => {
    const given = timed([plain]);
    const next = ["10:00:00", "10:30:00", "10:54:00"].map((time) => nextNoticeAt(given, at(time)));
    expect(next).toEqual([at("10:30:00"), at("10:54:00"), null]);
  });
});
