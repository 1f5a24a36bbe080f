import type { Membrane } from "@countersign/contract";
import { describe, expect, test } from "vitest";
import { type SettingsChange, SettingsHistory } from "./settings-history.ts";

const membrane = { membrane_id: "mem_1", packs: ["security"], status: "shadow" } as unknown as Membrane;
const change = (from_epoch: number, type: string, data: object): SettingsChange => ({
  type,
  data: { ...data },
  from_epoch,
});
const activated = (from_epoch: number, version: number, mode: "live" | "shadow" = "live") =>
  change(from_epoch, "policy_activated", { policy_id: "pol_1", version, name: "p", mode, sha256: "" });

const history = new SettingsHistory(
  [
    change(0, "membrane_created", { membrane }),
    activated(1, 1),
    change(4, "membrane_changed", { membrane_id: "mem_1", packs: [] }),
    activated(4, 2, "shadow"),
    change(4, "membrane_changed", { membrane_id: "mem_1", default_verdict: "block" }),
    change(9, "policy_retired", { policy_id: "pol_1", name: "p", active_version: 2 }),
  ],
  9,
);

describe("the settings at an epoch", () => {
  test.each([
    [0, ["security"], []],
    [1, ["security"], [[1, "live"]]],
    [3, ["security"], [[1, "live"]]],
    [4, [], [[2, "shadow"]]],
    [8, [], [[2, "shadow"]]],
    [9, [], []],
    [50, [], []],
  ])("epoch %d", (epoch, packs, versions) => {
    const then = history.at(epoch);
    expect(then.membranes.get("mem_1")?.packs).toEqual(packs);
    expect(then.policies.map(({ version, mode }) => [version, mode])).toEqual(versions);
  });

  test("changes of one membrane are merged, and none affects earlier epochs", () => {
    expect(history.at(4).membranes.get("mem_1")).toMatchObject({
      packs: [],
      default_verdict: "block",
      status: "shadow",
    });
    expect(history.at(3).membranes.get("mem_1")).toBe(membrane);
    expect(membrane.packs).toEqual(["security"]);
  });

  test("a range of epochs has everything that was in force in it", () => {
    const versions = (from: number, to: number) =>
      history.everInForce(from, to).policies.map(({ version, mode }) => [version, mode]);
    expect(versions(0, 0)).toEqual([]);
    expect(versions(0, 9)).toEqual([
      [1, "live"],
      [2, "shadow"],
    ]);
    expect(versions(4, 50)).toEqual([[2, "shadow"]]);
    expect(versions(9, 50)).toEqual([]);
    expect([...history.everInForce(3, 5).packs]).toEqual(["security"]);
    expect([...history.everInForce(4, 9).packs]).toEqual([]);
  });

  test("decisions of one era share their settings, however often they are read", () => {
    expect(history.at(4)).toBe(history.at(8));
    const many = Array.from({ length: 200 }, (_, n) => activated(n, n + 1));
    const long = new SettingsHistory([change(0, "membrane_created", { membrane }), ...many], 200);
    for (let epoch = 199; epoch >= 0; epoch -= 1) expect(long.at(epoch).policies[0]?.version).toBe(epoch + 1);
    expect(long.at(150).policies[0]?.version).toBe(151);
  });
});
