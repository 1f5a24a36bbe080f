import { describe, expect, test } from "vitest";
import type { Db, Query } from "../../ports.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { createDecisionWaits } from "./decision-waits.ts";

type Found = { readonly org_id: string; readonly intent_id: string }[];

function world(look: (asked: readonly string[], n: number) => Promise<Found>) {
  let now_ms = 0;
  let looks = 0;
  const timers = new Set<{ at_ms: number; run: () => void }>();
  const query = ((_text: string, params: readonly unknown[]) => look(params[1] as string[], ++looks)) as Query;
  const db = { system: (work: (query: Query) => Promise<unknown>) => work(query) } as unknown as Db;
  const after = (wait_ms: number, run: () => void) => {
    const timer = { at_ms: now_ms + wait_ms, run };
    timers.add(timer);
    return () => timers.delete(timer);
  };
  const waits = createDecisionWaits(db, { after }, silentLog);
  return {
    waits,
    looks: () => looks,
    async pass(ms: number) {
      for (let n = 0; n < ms; n++) {
        now_ms += 1;
        for (const timer of [...timers].filter((each) => each.at_ms <= now_ms)) {
          timers.delete(timer);
          timer.run();
        }
        await new Promise(setImmediate);
      }
    },
    timers,
  };
}

const final = (...ids: string[]): Found => ids.map((intent_id) => ({ org_id: "org_1", intent_id }));
function watched(promise: Promise<void>) {
  const state = { over: false };
  void promise.then(() => (state.over = true));
  return state;
}

describe("a waiting request", () => {
  test("learns of its own ruling at the next poll, at most 50 ms after the last one", async () => {
    let found: Found = [];
    const w = world(async () => found);
    const mine = watched(w.waits.untilFinal("org_1", "int_1", 20_000));
    const other = watched(w.waits.untilFinal("org_2", "int_1", 20_000));
    await w.pass(120);
    expect([mine.over, other.over, w.looks()]).toEqual([false, false, 2]);
    found = final("int_1");
    await w.pass(50);
    expect([mine.over, other.over]).toEqual([true, false]);
  });

  test("shares one poll with all others, and no poll runs when nothing waits", async () => {
    const asked: number[] = [];
    const w = world(async (ids) => {
      asked.push(ids.length);
      return final(...ids);
    });
    await w.pass(200);
    expect(asked).toEqual([]);
    const wait = (_: unknown, n: number) => w.waits.untilFinal("org_1", `int_${n % 500}`, 20_000);
    const all = Promise.all(Array.from({ length: 1_000 }, wait));
    await w.pass(60);
    await all;
    await w.pass(500);
    expect([asked, w.timers.size]).toEqual([[500], 0]);
  });

  test("learns of its ruling even if polls fail in between", async () => {
    const w = world(async (_, n) => {
      if (n < 4) throw new Error("the server is starting");
      return final("int_1");
    });
    const mine = watched(w.waits.untilFinal("org_1", "int_1", 20_000));
    await w.pass(160);
    expect([mine.over, w.looks()]).toEqual([false, 3]);
    await w.pass(50);
    expect(mine.over).toBe(true);
  });

  test("learns of its ruling even if the session of a poll hangs permanently", async () => {
    const w = world((_, n) => (n === 1 ? new Promise(() => undefined) : Promise.resolve(final("int_1"))));
    const mine = watched(w.waits.untilFinal("org_1", "int_1", 20_000));
    await w.pass(1_049);
    expect(mine.over).toBe(false);
    await w.pass(60);
    expect(mine.over).toBe(true);
    expect(w.looks()).toBe(2);
  });

  test("waits no longer than requested, and not at all once the service stops", async () => {
    const w = world(async () => []);
    const short = watched(w.waits.untilFinal("org_1", "int_1", 300));
    const long = watched(w.waits.untilFinal("org_1", "int_1", 20_000));
    await w.pass(299);
    expect(short.over).toBe(false);
    await w.pass(1);
    expect([short.over, long.over]).toEqual([true, false]);
    w.waits.stop();
    await w.pass(1);
    expect(long.over).toBe(true);
    await w.waits.untilFinal("org_1", "int_1", 20_000);
  });
});
