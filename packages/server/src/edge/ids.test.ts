import { idPattern } from "@countersign/contract";
import { describe, expect, test } from "vitest";
import type { Clock } from "../ports.ts";
import { createClock } from "./clock.ts";
import { createIds } from "./ids.ts";

const still: Clock = { now_us: () => 1_700_000_000_123_456 };

describe("ids", () => {
  test("match the contract's pattern: the prefix, then 26 Crockford characters", () => {
    const ids = createIds(createClock());
    expect(ids.next("intent")).toMatch(new RegExp(idPattern("intent")));
    expect(ids.next("webhook")).toMatch(new RegExp(idPattern("webhook")));
  });

  test("start with the time as ULID writes it", () => {
    // 1_700_000_000_123 in base 32.
    expect(createIds(still).next("intent")).toMatch(/^int_01HF7YAT3V/);
  });

  test("sort in the order of creation, also within one millisecond and over a carry", () => {
    const ids = createIds(still);
    const made = Array.from({ length: 100_000 }, () => ids.next("event"));
    expect(made.toSorted()).toEqual(made);
    expect(new Set(made).size).toBe(made.length);
  });

  test("keep their order when the clock is behind the last id", () => {
    const times_us = [2_000_000, 1_000_000, 3_000_000];
    const ids = createIds({ now_us: () => times_us.shift() as number });
    const made = [ids.next("intent"), ids.next("intent"), ids.next("intent")];
    expect(made.toSorted()).toEqual(made);
  });

  test("start with the clock's time after it went back by more than a minute", () => {
    const times_us = [1_800_000_000_000_000, 1_700_000_000_123_456];
    const ids = createIds({ now_us: () => times_us.shift() as number });
    ids.next("intent");
    expect(ids.next("intent")).toMatch(/^int_01HF7YAT3V/);
  });

  test("of two processes at the same instant differ", () => {
    expect(createIds(still).next("intent").slice(14)).not.toBe(createIds(still).next("intent").slice(14));
  });

  test("cost less than a database round trip: 100,000 take less than five seconds of processor time", () => {
    const ids = createIds(createClock());
    const started = process.cpuUsage();
    for (let i = 0; i < 100_000; i += 1) ids.next("intent");
    const { user, system } = process.cpuUsage(started);
    expect((user + system) / 1_000).toBeLessThan(5_000);
  });
});

describe("secrets", () => {
  test("have exactly the requested length and only base-62 characters", () => {
    const ids = createIds(createClock());
    for (const length of [1, 32, 43, 5000]) expect(ids.secret(length)).toMatch(new RegExp(`^[0-9A-Za-z]{${length}}$`));
  });

  test("use every character equally often", () => {
    const counts = new Map<string, number>();
    for (const c of createIds(createClock()).secret(620_000)) counts.set(c, (counts.get(c) ?? 0) + 1);
    expect(counts.size).toBe(62);
    // Six standard deviations.
    for (const count of counts.values()) expect(Math.abs(count - 10_000)).toBeLessThan(600);
  });
});
