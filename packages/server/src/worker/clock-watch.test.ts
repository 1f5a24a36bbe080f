import { expect, test } from "vitest";
import { createClock } from "../edge/clock.ts";
import type { Clock, Query } from "../ports.ts";
import { testDatabase } from "../testing/database/database.ts";
import { call } from "../testing/nodes/http-node.ts";
import { serviceNode } from "../testing/nodes/service-node.ts";
import { silentLog } from "../testing/nodes/silent-log.ts";
import { heldBody, reviewedOrganization } from "../testing/people/review.ts";
import { whenFileIsDone } from "../testing/when-file-is-done.ts";
import { startClockWatch } from "./clock-watch.ts";

const database = await testDatabase();
const { db } = database;
const real = createClock();

async function watched(offset_s: number) {
  const set = { offset_s };
  const clock: Clock = { now_us: () => real.now_us() + set.offset_s * 1_000_000 };
  const told: string[] = [];
  const tell = (level: string) => (fields: object, message: string) =>
    void told.push(
      `${level} ${"offset_s" in fields ? Math.round(Number(fields.offset_s)) : ""} ${message.split(":")[0]}`,
    );
  const log = { ...silentLog, info: tell("info"), warn: tell("warn"), error: tell("error") };
  const due: (() => void)[] = [];
  const after = (_wait_ms: number, run: () => void) => {
    due.push(run);
    return () => undefined;
  };
  const watch = await startClockWatch({ db, clock, timers: { after }, log });
  whenFileIsDone(() => watch.stop());
  const look = async (next_offset_s: number) => {
    set.offset_s = next_offset_s;
    due.shift()?.();
    await expect.poll(() => due.length).toBe(1);
  };
  return { clock, watch, told, look };
}

test("a clock that is 30 seconds off is logged once; 5 minutes are logged as an error; then that it is right again", async () => {
  const { watch, told, look } = await watched(0);
  for (const offset_s of [29, 31, 32, -31, 301, 302, -301, -299, 1]) await look(offset_s);
  expect(told).toEqual([
    "warn 31 this node's clock differs from the database's",
    "error 301 this node makes no decisions, because its clock is too far off",
    "warn -299 this node's clock differs from the database's",
    "info 1 this node's clock agrees with the database's again",
  ]);
  expect(Math.round(watch.offset_s())).toBe(1);
});

test("the response time of the database does not affect the result", async () => {
  // The clock is right, but the answer takes ten minutes.
  let now_us = 0;
  const clock = { now_us: () => now_us };
  const query = async () => {
    const at = new Date(now_us / 1000 + 300_000).toISOString();
    now_us += 600_000_000;
    return [{ at }];
  };
  const system: typeof db.system = (work) => work(query as unknown as Query);
  const timers = { after: () => () => undefined };
  const watch = await startClockWatch({ db: { ...db, system }, clock, timers, log: silentLog });
  expect(watch.offset_s()).toBe(0);
});

test("a node whose clock is 5 minutes off is not ready and makes no decisions, single or in a batch", async () => {
  const { clock, watch, look } = await watched(0);
  const { url } = await serviceNode(database, { clock, clockWatch: watch });
  const { agent } = await reviewedOrganization(db, url);
  for (const offset_s of [301, -301]) {
    await look(offset_s);
    const clockDetail = [{ path: "", code: "clock", message: expect.stringContaining("clock") }];
    expect((await call(url, "GET", "/readyz")).status).toBe(503);
    const alone = await call(url, "POST", "/v1/intents", { key: agent, body: heldBody });
    expect([alone.status, alone.json.error.code, alone.json.error.details]).toEqual([503, "unavailable", clockDetail]);
    const batch = await call(url, "POST", "/v1/intents/batch", { key: agent, body: { intents: [heldBody] } });
    expect(JSON.stringify(batch.json)).toContain('"clock"');
    const [, metric] = /^countersign_clock_offset_seconds (.+)$/m.exec((await call(url, "GET", "/metrics")).text) ?? [];
    expect(Math.round(Number(metric))).toBe(offset_s);
  }
  await look(-299);
  expect((await call(url, "GET", "/readyz")).status).toBe(200);
  expect((await call(url, "POST", "/v1/intents", { key: agent, body: heldBody })).status).toBe(201);
});
