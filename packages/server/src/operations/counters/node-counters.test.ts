import type { CountedAction, CounterReading, PlacedTrack } from "@countersign/core";
import { expect, test } from "vitest";
import type { DecisionRows } from "../../store/commit/commit-writer-rows.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { testOrganization } from "../../testing/nodes/http-node.ts";
import { createNodeCounters } from "./node-counters.ts";

const { db } = await testDatabase();
const track = {
  name: "count.paid",
  window: { kind: "sliding", us: 3_600_000_000 },
  counts: new Set(["executed", "pending"]),
  fields: new Map(),
} as unknown as PlacedTrack;
const key = '["bot"]';
const at = "2026-11-20T12:00:00.000000Z";
const now_us = Date.parse(at) * 1_000 + 1;

test("a decision that reads a key twice names the state of the first read, so that the commit notices a change between", async () => {
  const { org_id } = await testOrganization(db);
  const counters = createNodeCounters(db);
  await counters.load(org_id, "live", [{ track, key } as never], now_us);
  const counts = counters.begin(org_id, "live", now_us);
  const first = counts.source.read(track, key, {}) as CounterReading;

  const other = counters.begin(org_id, "live", now_us);
  const reading = other.source.read(track, key, {}) as CounterReading;
  const added: CountedAction = {
    name: track.name,
    key,
    micros: 7_000_000,
    values: {},
    ends_us: now_us + 3_600_000_000,
  };
  const entry = { intent_id: "int_other", mode: "live", verdict: "approve", at } as DecisionRows["entry"];
  const settle = counters.reserve({
    org_id,
    entry,
    counts: other.rowsFor([{ track, key, reading }], [added]),
  } as unknown as DecisionRows);

  const second = counts.without("int_equal").read(track, key, {}) as CounterReading;
  expect([first.n, second.n]).toEqual([0, 1]);
  expect(counts.rowsFor([{ track, key, reading: first }], [])).toMatchObject([{ last_id: null }]);
  settle(false);
});
