import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { Redis } from "ioredis";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { NodeRateWindows } from "./rate-windows.ts";
import { openRedisRateWindows, type RedisRateWindows, type RedisRateWindowsOptions } from "./rate-windows-redis.ts";
import { look_script, take_script } from "./rate-windows-redis-scripts.ts";

const url = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";
const admin = new Redis(url, { lazyConnect: true, retryStrategy: null });
const redisIsHere = await admin.connect().then(
  () => true,
  () => false,
);
if (!redisIsHere) console.warn(`skipped: no Redis at ${url}; set REDIS_URL to run the tests of shared rate windows`);
const prefix = `countersign-test-${randomBytes(6).toString("hex")}:`;
const open: RedisRateWindows[] = [];
const servers: Server[] = [];

afterEach(() => {
  for (const windows of open.splice(0)) windows.close();
  for (const server of servers.splice(0)) server.close();
});
afterAll(async () => {
  if (redisIsHere) for (const key of await admin.keys(`${prefix}*`)) await admin.del(key);
  admin.disconnect();
});

async function windowsAt(at: string, more: Partial<Omit<RedisRateWindowsOptions, "url" | "prefix">> = {}) {
  const none = { onDegraded: () => undefined, onAlone: () => undefined };
  const windows = openRedisRateWindows({ url: at, prefix, log: silentLog, ...none, ...more });
  open.push(windows);
  return windows;
}

/** Opens a connected store. Its first answers may come from this node's own windows. */
async function connected(more: Parameters<typeof windowsAt>[1] = {}) {
  const changes: boolean[] = [];
  // A long timeout, because these tests are about counting.
  const windows = await windowsAt(url, {
    answer_ms_max: 10_000,
    ...more,
    onDegraded: (degraded) => changes.push(degraded),
  });
  let probe = 1_000_000;
  await expect
    .poll(async () => {
      probe += 10_000;
      await windows.take(`probe ${randomBytes(4).toString("hex")}`, 1, probe);
      return changes.at(-1) === false && changes.length !== 2;
    })
    .toBe(true);
  return windows;
}

async function listening(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `redis://127.0.0.1:${(server.address() as { port: number }).port}`;
}

const vectors: {
  sequences: { name: string; limit: number; steps: { t: number; status?: number; allowed: boolean }[] }[];
} = JSON.parse(readFileSync(new URL("../../../../../test/data/ratelimit-vectors.json", import.meta.url), "utf8"));

describe.skipIf(!redisIsHere)("with a Redis that answers", () => {
  test.each(vectors.sequences)("recorded sequence: $name", async ({ name, limit, steps }) => {
    const windows = await connected({ callers_time: true });
    for (const { t, status, ...expected } of steps) {
      const taken = await windows.take(name, limit, t);
      const answer = status === 304 ? await windows.refund(name, taken, t) : taken;
      expect(answer).toMatchObject(expected);
    }
  });

  test("500 concurrent requests over two nodes: exactly 120 pass, whatever the nodes' clocks say", async () => {
    const nodes = [await connected(), await connected()] as const;
    const takes = Array.from({ length: 500 }, (_, i) =>
      nodes[(i % 2) as 0 | 1].take("shared", 120, (i % 2) * 90_000_000),
    );
    const passed = (await Promise.all(takes)).filter((taken) => taken.allowed);
    expect(passed).toHaveLength(120);
    expect(new Set(passed.map((taken) => taken.remaining)).size).toBe(120);
  });

  test("thousands of expired entries are dropped in one call", async () => {
    const windows = await connected({ callers_time: true });
    for (let from = 0; from < 5_000; from += 250) {
      await Promise.all(Array.from({ length: 250 }, (_, i) => windows.take("many", 10_000, 1_000_000 + from + i)));
    }
    expect(await windows.take("many", 10_000, 1_064_998)).toMatchObject({ remaining: 9_998 });
  });

  test("a look counts nothing and returns the same as a node's own window", async () => {
    const windows = await connected({ callers_time: true });
    const own = new NodeRateWindows();
    for (const [kind, limit, t] of [
      ["look", 2, 5_000],
      ["take", 2, 5_000],
      ["look", 2, 6_000],
      ["take", 2, 7_000],
      ["look", 2, 7_000],
      ["look", 1, 8_000],
      ["look", 2, 65_000],
      ["look", 2, 67_000],
    ] as const) {
      expect(await windows[kind]("looked at", limit, t)).toEqual(own[kind]("looked at", limit, t));
    }
  });

  test("a refund of a bucket's only request leaves nothing that counts later", async () => {
    const windows = await connected({ callers_time: true });
    const taken = await windows.take("refunded", 2, 5_000);
    expect(await windows.refund("refunded", taken, 5_000)).toMatchObject({ remaining: 2 });
    expect(await windows.take("refunded", 2, 5_000)).toMatchObject({ remaining: 1 });
    expect(await windows.take("refunded", 2, 65_000)).toMatchObject({ remaining: 1 });
  });

  test("callers are not refused for hours after the clock of Redis is set back by hours", async () => {
    const windows = await connected({ callers_time: true });
    expect((await windows.take("set back", 1, 9_000_000)).allowed).toBe(true);
    expect((await windows.look("set back", 1, 8_950_000)).allowed).toBe(false);
    expect(await windows.take("set back", 1, 2_000_000)).toMatchObject({ allowed: true, at_ms: 2_000_000 });
    expect((await windows.take("set back", 1, 2_000_000)).allowed).toBe(false);
  });

  test("an eviction of half a bucket leaves nothing that counts forever", async () => {
    for (const evicted of ["times", "counts"]) {
      const [before, after] = [await connected(), await connected()];
      for (let n = 0; n < 3; n++) await before.take(`evicted ${evicted}`, 5, 0);
      await admin.del(`${prefix}{evicted ${evicted}}:${evicted}`);
      expect((await after.take(`evicted ${evicted}`, 5, 0)).remaining).toBe(4);
      expect((await after.take(`evicted ${evicted}`, 5, 0)).remaining).toBe(3);
    }
  });

  test("after Redis evicts a bucket's counts, its times expire and are not reported as the time until a place is free", async () => {
    const [times, counts] = ["times", "counts"].map((half) => `${prefix}{half}:${half}`) as [string, string];
    await admin.rpush(times, "1000");
    await admin.eval(look_script, 2, times, counts, "1", "61500");
    expect(await admin.exists(times, counts)).toBe(0);
    await admin.rpush(times, "1000");
    await admin.eval(take_script, 2, times, counts, "1", "50000");
    // The bucket is full until the request of 50 s expires.
    expect(await admin.eval(look_script, 2, times, counts, "1", "51000")).toEqual([0, 1, 50_000, 51_000, 51_000]);
  });

  test("a request that reaches Redis after its deadline is not counted", async () => {
    const keys = ["times", "counts"].map((half) => `${prefix}{late}:${half}`) as [string, string];
    expect(await admin.eval(take_script, 2, ...keys, "5", "10001", "10000")).toEqual([-1, 0, 10_001, 10_001, 10_001]);
    expect(await admin.exists(...keys)).toBe(0);
    expect(await admin.eval(take_script, 2, ...keys, "5", "10000", "10000")).toEqual([1, 1, 10_000, 10_000, 10_000]);
    // The deadline is compared with Redis' clock, not with the newest request.
    expect(await admin.eval(take_script, 2, ...keys, "5", "9000", "9500")).toEqual([1, 2, 10_000, 10_000, 10_000]);
  });

  test("keys expire by themselves", async () => {
    const windows = await connected();
    await windows.take("expiring", 5, 0);
    expect(await admin.pttl(`${prefix}{expiring}:times`)).toBeGreaterThan(59_000);
    expect(await admin.pttl(`${prefix}{expiring}:counts`)).toBeGreaterThan(59_000);
  });

  async function throughProxy(answer_ms_max = 50) {
    const sockets = new Set<Socket>();
    const target = new URL(url);
    const state = { down: false, now: 1_000_000, changes: [] as boolean[], alone: 0, errors: [] as object[] };
    const proxy = createServer((socket) => {
      if (state.down) return void socket.destroy();
      const upstream = connect(Number(target.port || 6379), target.hostname);
      socket.pipe(upstream).pipe(socket);
      for (const each of [socket, upstream]) sockets.add(each.on("error", () => each.destroy()));
    });
    const windows = await windowsAt(await listening(proxy), {
      onDegraded: (degraded) => state.changes.push(degraded),
      onAlone: () => (state.alone += 1),
      log: { ...silentLog, error: (fields) => void state.errors.push(fields) },
      answer_ms_max,
    });
    const until = (degraded: boolean) =>
      expect
        .poll(async () => {
          state.now += 2_000;
          await windows.take(`probe ${state.now}`, 1, state.now);
          return state.changes.at(-1) === degraded && state.changes.length > 1;
        })
        .toBe(true);
    await until(false);
    return { windows, state, sockets, until };
  }

  test("during an outage each node counts without a fresh budget, and recovers by itself", async () => {
    const { windows, state, sockets, until } = await throughProxy();
    await windows.take("outage", 3, state.now);
    await windows.take("outage", 3, state.now);
    state.down = true;
    for (const socket of sockets) socket.destroy();
    const now = state.now;
    await until(true);
    expect(await windows.take("outage", 3, now)).toMatchObject({ allowed: true, remaining: 0 });
    expect(await windows.take("outage", 3, now)).toMatchObject({ allowed: false });
    state.down = false;
    await until(false);
    expect(await windows.look("outage", 3, now)).toMatchObject({ allowed: false });
    expect(await windows.take("outage", 3, now)).toMatchObject({ allowed: false });
    const elsewhere = await connected();
    await expect.poll(async () => (await elsewhere.look("outage", 3, now)).remaining).toBe(1);
  });

  test("requests that a node counted alone still count when Redis is back, and can be refunded", async () => {
    const { windows, state, sockets, until } = await throughProxy(10_000);
    state.down = true;
    for (const socket of sockets) socket.destroy();
    await until(true);
    const now = state.now;
    for (const remaining of [3, 2]) expect(await windows.take("back", 4, now)).toMatchObject({ remaining });
    state.down = false;
    await until(false);
    const shared = await windows.take("back", 4, now);
    expect(shared).toMatchObject({ allowed: true, remaining: 1 });
    expect(await windows.refund("back", shared, now)).toMatchObject({ remaining: 2 });
    for (const remaining of [1, 0]) expect(await windows.take("back", 4, now)).toMatchObject({ remaining });
    expect(await windows.take("back", 4, now)).toMatchObject({ allowed: false, remaining: 0 });
  });

  test("a bucket that Redis found full stays refused during single late answers, which are counted", async () => {
    const { windows, state, sockets, until } = await throughProxy(250);
    const elsewhere = await connected();
    for (let n = 0; n < 5; n++) await elsewhere.take("full", 5, 0);
    for (let n = 1; n <= 3; n++) {
      await until(false);
      state.alone = 0;
      const refused = await windows.take("full", 5, state.now);
      expect(refused.allowed).toBe(false);
      for (const socket of sockets) socket.pause();
      expect(await windows.take("full", 5, state.now)).toEqual(refused);
      expect(state.alone).toBe(1);
      const later = state.now + refused.retry_after * 1_000;
      expect((await windows.look("full", 5, later - 1)).allowed).toBe(false);
      for (const socket of sockets) socket.resume();
    }
    expect(state.changes.at(-1)).toBe(false);
    for (const socket of sockets) socket.pause();
    expect((await windows.take("full", 5, state.now + 60_000)).allowed).toBe(true);
    expect((await windows.take("full", 6, state.now)).allowed).toBe(true);
  });

  test("a Redis that hangs delays three requests only, and is used again when it answers", async () => {
    const { windows, state, sockets, until } = await throughProxy(1_000);
    state.errors.length = 0;
    for (const socket of sockets) socket.unpipe().pause();
    const started = performance.now();
    for (let i = 0; i < 100; i++) expect((await windows.take("hung", 100, state.now)).allowed).toBe(true);
    expect(performance.now() - started).toBeLessThan(50_000);
    expect(state.changes.at(-1)).toBe(true);
    expect(state.errors).toEqual([{ err: new Error("redis did not answer in time") }]);
    for (const socket of sockets) socket.destroy();
    await until(false);
  });

  test("a Redis that was stopped does not count the requests of that time when it wakes", async () => {
    const { windows, state, sockets, until } = await throughProxy();
    for (const socket of sockets) socket.pause();
    for (let i = 1; i <= 12; i++) expect((await windows.take("asleep", 100, state.now + i * 800)).allowed).toBe(true);
    expect(state.changes.at(-1)).toBe(true);
    for (const socket of sockets) socket.resume();
    await until(false);
    expect(await admin.hget(`${prefix}{asleep}:counts`, "n")).toBe("3");
  });

  test("a connection whose other end disappeared silently is replaced", async () => {
    const { windows, state, sockets, until } = await throughProxy();
    for (const socket of sockets) socket.unpipe().pause();
    for (let i = 0; i < 3; i++) await windows.take("gone", 100, state.now);
    expect(state.changes.at(-1)).toBe(true);
    await until(false);
  });
});

test("a Redis that never existed is no error: each node counts alone, and logs it once", async () => {
  const changes: boolean[] = [];
  const windows = await windowsAt("redis://127.0.0.1:1", { onDegraded: (degraded) => changes.push(degraded) });
  const allowed = [];
  for (let i = 0; i < 4; i++) allowed.push((await windows.take("a", 3, 1_000 + i)).allowed);
  expect(allowed).toEqual([true, true, true, false]);
  expect(changes).toEqual([false, true]);
});

test("a Redis that accepts connections but never answers delays no request", async () => {
  const silent = createServer((socket) => void socket.on("error", () => socket.destroy()).resume());
  const windows = await windowsAt(await listening(silent), { answer_ms_max: 1_000 });
  const started = performance.now();
  for (let i = 0; i < 50; i++) expect((await windows.take("slow", 100, 1_000 + i)).allowed).toBe(true);
  expect(performance.now() - started).toBeLessThan(25_000);
});

/** Starts a fake Redis. Its replies depend on the connection's number and the arguments. */
function answering(script: (connection: number, text: string) => string): Promise<string> {
  let connections = 0;
  return listening(
    createServer((socket) => {
      const connection = ++connections;
      socket
        .on("error", () => undefined)
        .on("data", (data) => {
          for (const [, command] of String(data).matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g))
            socket.write(/^eval/i.test(command as string) ? script(connection, String(data)) : "+OK\r\n");
        });
    }),
  );
}

/** Opens windows that counted one request alone and then got an answer. */
async function answered(at: string, bucket: string, now: number) {
  const changes: boolean[] = [];
  const windows = await windowsAt(at, { onDegraded: (degraded) => changes.push(degraded), answer_ms_max: 10_000 });
  expect((await windows.take(bucket, 1, now)).allowed).toBe(true);
  await expect
    .poll(async () => {
      now += 2_000;
      await windows.take("probe", 1, now);
      return changes;
    })
    .toEqual([false, true, false]);
  return { windows, now };
}

test("a connection to a Redis that became a replica is replaced by one to the primary", async () => {
  const at = await answering((connection) =>
    connection === 1
      ? "-READONLY You can't write against a read only replica.\r\n"
      : "*5\r\n:1\r\n:1\r\n:1000\r\n:1000\r\n:1000\r\n",
  );
  await answered(at, "any", 0);
});

test("a clock of Redis that is minutes behind does not extend the refusals by a node's own counts", async () => {
  let redis_ms = 1_000_000;
  const at = await answering(() => `*5\r\n:1\r\n:1\r\n${`:${redis_ms}\r\n`.repeat(3)}`);
  const { windows, now } = await answered(at, "early", redis_ms + 600_000);
  redis_ms += 60_000;
  expect((await windows.take("early", 1, now + 60_000)).allowed).toBe(true);
});

test("a take has a deadline, and is retried without one if only the clocks differ", async () => {
  const redis_ms = 1_000_000;
  const sent: string[] = [];
  const at = await answering((_, text) => {
    sent.push(text);
    const counts = !text.includes("{clock}") || text.endsWith("\r\n$0\r\n\r\n");
    return `*5\r\n:${counts ? 1 : -1}\r\n:1\r\n${`:${redis_ms}\r\n`.repeat(3)}`;
  });
  const { windows, now } = await answered(at, "any", 0);
  await windows.take("asked", 9, now + 100);
  expect(sent.splice(0).at(-1)).toContain(`\r\n${redis_ms + 100 + 2_000}\r\n`);
  expect((await windows.take("clock", 9, now)).allowed).toBe(true);
  expect(sent).toHaveLength(2);
});

const wrong = "WRONGPASS invalid username-password pair";
const no_database = "ERR DB index is out of range";
test.each([
  ["the password is wrong, so that it is not looked for in the network", "", wrong, `not connected: ${wrong}`],
  ["so also where a database is named, which is refused for it", "/16", wrong, `not connected: ${wrong}`],
  ["the database is refused, as the client goes on in another one", "/16", no_database, no_database],
])("the log says why the configured Redis is not used: %s", async (_, path, refusal, reason) => {
  let sessions = 0;
  const refused = refusal === wrong ? ["hello", "auth"] : ["select"];
  const refusing = createServer((socket) => {
    sessions += 1;
    socket
      .on("error", () => undefined)
      .on("data", (data) => {
        for (const [command] of String(data).matchAll(/(?<=\*\d+\r\n\$\d+\r\n)\w+/g)) {
          if (refused.includes(command)) socket.write(`-${refusal}\r\n`);
          else socket.write(refusal === wrong ? "-NOAUTH Authentication required.\r\n" : "+OK\r\n");
        }
        if (refusal === wrong) socket.end();
      });
  });
  const error = vi.fn();
  const at = (await listening(refusing)).replace("//", "//:secret@").concat(path);
  const windows = await windowsAt(at, { log: { ...silentLog, error } });
  await expect
    .poll(async () => {
      if (sessions > 1) await windows.take("key", 1, 0);
      return error.mock.calls;
    })
    .toEqual([[{ reason }, expect.any(String)]]);
});
