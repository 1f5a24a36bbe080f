import { setTimeout as sleep } from "node:timers/promises";
import type { Verdict } from "@countersign/contract";
import type { Fault } from "@countersign/core";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { firstTurn, type Turn } from "../../operations/backtests/replay-needs.ts";
import { joinParts, replayRecorded } from "../../operations/backtests/replay-recorded.ts";
import type { BacktestJob } from "../../operations/shared/node-services.ts";
import type { Query } from "../../ports.ts";
import { openClient } from "../../store/database/connection.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { waitingFor } from "../../testing/meanwhile.ts";
import { call, testOrganization } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { heldBody, reviewedOrganization } from "../../testing/people/review.ts";
import { createBacktestThreads } from "./backtest-threads.ts";
import { newRequestCount } from "./give-way.ts";
import type { ThreadProgram } from "./thread-program.ts";

vi.setConfig({ testTimeout: 120_000 });

const database = await testDatabase();

const program = (source: string): ThreadProgram => ({
  url: new URL(`data:text/javascript,${encodeURIComponent(source)}`),
  execArgv: [],
});
const endless = program("setInterval(() => undefined, 1000)");
/** Reports the node's requests as its progress. */
const counting = program(`
  import { parentPort, workerData } from "node:worker_threads";
  setInterval(() => parentPort.postMessage({ kind: "progress", evaluated: Atomics.load(workerData.requests, 0), done: 0 }), 10);
`);
const busy = program("for (;;) {}");
/** Returns an empty part at once, but ends late. */
const lingering = program(`
  import { parentPort } from "node:worker_threads";
  const none = { evaluated: 0, met: 0, not_met: 0, flips_total: 0, rulings: 0, agreed: 0, flips: [], not_reproduced: [] };
  const maps = { transitions: new Map(), policies: new Map(), paths: new Map() };
  const of = { approve: 0, approve_modified: 0, escalate: 0, block: 0 };
  const verdicts = { recorded: { ...of }, candidate: { ...of } };
  const counts = { ...none, ...maps, verdicts, days: new Set(), flip_groups: new Map(), asked: new Map() };
  parentPort.postMessage({ kind: "part", part: { counts, oldest_us: null, cut: false } });
  setInterval(() => undefined, 1000);
`);
/** The thread that does not begin is done at once. */
const uneven = program(`
  import { parentPort, workerData } from "node:worker_threads";
  if (workerData.first === null) parentPort.postMessage({ kind: "part", part: {} });
  else setInterval(() => undefined, 1000);
`);
/** Eight of these fill a page. */
const largeBody = {
  intent: {
    agent: { id: "agent-1" },
    action: { type: "data.read", verb: "read" },
    payload: { content: { text: "x".repeat(1_000_000) } },
  },
};
const window = { from: "2020-01-01T00:00:00Z", to: "2100-01-01T00:00:00Z" };

const jobOf = (org_id: string): BacktestJob => ({
  org_id,
  filter: { ...window, membrane_id: null, agent_id: null, lineage_id: null, seq: Number.MAX_SAFE_INTEGER },
  candidate: null,
  values: true,
  limit: 1_000,
  asked_us: 0,
});

function begin(threads: ReturnType<typeof createBacktestThreads>, org_id: string) {
  const controller = new AbortController();
  const states: string[] = [];
  const ended = threads.run(jobOf(org_id), {
    signal: controller.signal,
    onProgress: (state) => void states.push(state),
  });
  const code = ended.then(
    () => "none",
    (error: Fault) => error.code,
  );
  return { states, code, cancel: () => controller.abort() };
}

describe("the threads of a node", () => {
  test("a bounded number runs and waits; the next begins when one has ended", async () => {
    const threads = createBacktestThreads(database, new Map(), silentLog, newRequestCount(), endless);
    const begun: ReturnType<typeof begin>[] = [];
    const waiting = () => begun.filter(({ states }) => !states.includes("running")).length;
    // More organizations fill the queue, because two would each be refused their third backtest.
    for (let org = 0; waiting() < 8; org += 1) begun.push(begin(threads, `org_${org}`));
    expect(await begin(threads, "org_late").code).toBe("overloaded");
    begun[0]?.cancel();
    expect(await begun[0]?.code).toBe("unavailable");
    await expect.poll(waiting, { timeout: 60_000 }).toBe(7);
    await threads.stop();
    expect(new Set(await Promise.all(begun.map(({ code }) => code)))).toEqual(new Set(["unavailable"]));
    expect(await begin(threads, "org_0").code).toBe("unavailable");
  });

  test("a backtest whose threads cannot be started gets a fault, and its place is free", async () => {
    // Node's constructor throws for these arguments, as it does when the system has no thread.
    const refused = { ...endless, execArgv: ["--no-such-flag"] };
    const threads = createBacktestThreads(database, new Map(), silentLog, newRequestCount(), refused);
    for (const org_id of ["org_a", "org_a", "org_a", "org_b"]) {
      const { code, states } = begin(threads, org_id);
      expect(states).toEqual(["waiting", "running"]);
      expect(await code).toBe("unavailable");
    }
    await threads.stop();
  });

  test("an organization has at most two in progress", async () => {
    const threads = createBacktestThreads(database, new Map(), silentLog, newRequestCount(), endless);
    const begun = [begin(threads, "org_a"), begin(threads, "org_a")];
    expect(await begin(threads, "org_a").code).toBe("overloaded");
    begun[1]?.cancel();
    await begun[1]?.code;
    const again = begin(threads, "org_a");
    expect(again.states).toContain("waiting");
    await threads.stop();
  });

  test("a backtest whose turn is over is cancelled for another organization's", async () => {
    const threads = createBacktestThreads(database, new Map(), silentLog, newRequestCount(), endless, 1);
    const begun = [begin(threads, "org_0")];
    while (begun.at(-1)?.states.includes("running")) begun.push(begin(threads, `org_${begun.length}`));
    expect(await begun[0]?.code).toBe("overloaded");
    await expect.poll(() => begun.at(-1)?.states, { timeout: 60_000 }).toContain("running");
    await threads.stop();
  });

  test("a backtest whose turn is over is cancelled even if one of its threads is already done", async () => {
    const threads = createBacktestThreads(database, new Map(), silentLog, newRequestCount(), uneven, 3_000);
    const begun = [begin(threads, "org_0")];
    while (begun.at(-1)?.states.includes("running")) begun.push(begin(threads, `org_${begun.length}`));
    expect(await begun[0]?.code).toBe("overloaded");
    await threads.stop();
  });

  test("of backtests whose turn is over, the oldest are cancelled, and no more than wait", async () => {
    const parts = [database, new Map(), silentLog, newRequestCount(), counting, 1, 3] as const;
    const threads = createBacktestThreads(...parts);
    const begun = ["org_0", "org_1", "org_2"].map((org_id) => begin(threads, org_id));
    // Reports come every 10 ms.
    for (const { states } of begun) await expect.poll(() => states.length, { timeout: 60_000 }).toBeGreaterThan(5);
    const next = begin(threads, "org_3");
    expect(await begun[0]?.code).toBe("overloaded");
    await expect.poll(() => next.states, { timeout: 60_000 }).toContain("running");
    for (const each of [...begun.slice(1), next]) expect(await Promise.race([each.code, "goes on"])).toBe("goes on");
    await threads.stop();
  });

  test("a backtest whose turn is over continues while only its own organization waits", async () => {
    const threads = createBacktestThreads(database, new Map(), silentLog, newRequestCount(), counting, 1);
    const begun = [begin(threads, "org_a"), begin(threads, "org_a")];
    await expect.poll(() => begun[0]?.states.length, { timeout: 60_000 }).toBeGreaterThan(5);
    await threads.stop();
    expect(await begun[0]?.code).toBe("unavailable");
  });

  test("an answered backtest does not count, even while its threads are still ending", async () => {
    const threads = createBacktestThreads(database, new Map(), silentLog, newRequestCount(), lingering);
    expect(await begin(threads, "org_a").code).toBe("none");
    const next = [begin(threads, "org_a"), begin(threads, "org_a")];
    for (const { states } of next) expect(states).toContain("waiting");
    expect(await begin(threads, "org_a").code).toBe("overloaded");
    await threads.stop();
  });

  test("a failed backtest, or one whose caller has left, does not count", async () => {
    const threads = createBacktestThreads(database, new Map(), silentLog, newRequestCount(), endless);
    const left = begin(threads, "org_a");
    const waiting = begin(threads, "org_a");
    left.cancel();
    expect(begin(threads, "org_a").states).toContain("waiting");
    expect(waiting.states).toContain("waiting");
    await threads.stop();
  });

  test.each([
    ["that ends early", "process.exit(3)"],
    ["that throws", "throw new Error('a thread died')"],
  ])("a thread %s is an internal error, and the place is free again", async (_name, source) => {
    const threads = createBacktestThreads(database, new Map(), silentLog, newRequestCount(), program(source));
    for (let time = 0; time < 3; time += 1) expect(await begin(threads, "org_a").code).toBe("internal_error");
    await threads.stop();
  });
});

describe("over HTTP", () => {
  const post = (url: string, key: string, signal?: AbortSignal) =>
    fetch(`${url}/v1/learning/backtest`, {
      method: "POST",
      headers: { "X-API-Key": key, "Content-Type": "application/json", Accept: "application/x-ndjson" },
      body: JSON.stringify({ window }),
      ...(signal === undefined ? {} : { signal }),
    });

  test("progress comes line by line, then the figures", async () => {
    const { url } = await serviceNode(database);
    const { api_key } = await (await testOrganization(database.db)).key();
    const answer = await post(url, api_key);
    expect(answer.headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
    expect(answer.headers.get("ratelimit-limit")).not.toBeNull();
    const lines = (await answer.text())
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines[0]).toMatchObject({ progress: { evaluated: 0, done: 0 } });
    expect(lines.at(-1)).toMatchObject({ backtest: { evaluated: 0 } });
  });

  test("a failed thread is reported by a status or in the last line, and the service continues", async () => {
    const { url } = await serviceNode(database, { backtestThread: program("process.exit(3)") });
    const { api_key } = await (await testOrganization(database.db)).key();
    const plain = await call(url, "POST", "/v1/learning/backtest", { key: api_key, body: { window } });
    expect([plain.status, plain.json.error.code]).toEqual([500, "internal_error"]);
    const lines = (await (await post(url, api_key)).text()).trimEnd().split("\n");
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ error: { code: "internal_error" } });
    expect((await call(url, "GET", "/v1/packs", { key: api_key })).status).toBe(200);
  });

  test("closing the connection cancels; decisions continue meanwhile; too many are refused with a Retry-After", async () => {
    const { url } = await serviceNode(database, { backtestThread: busy });
    const { admin, agent } = await reviewedOrganization(database.db, url);
    const first = new AbortController();
    const second = new AbortController();
    const answers = [await post(url, admin, first.signal), await post(url, admin, second.signal)];
    expect((await call(url, "POST", "/v1/intents", { key: agent, body: heldBody })).status).toBe(201);
    const refused = await call(url, "POST", "/v1/learning/backtest", { key: admin, body: { window } });
    expect([refused.status, refused.json.error.code]).toEqual([503, "overloaded"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    // Held until here, because fetch closes the connection of a garbage-collected answer.
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    first.abort();
    second.abort();
    const third = new AbortController();
    await expect.poll(async () => (await post(url, admin, third.signal)).status, { timeout: 60_000 }).toBe(200);
    third.abort();
  });

  test("its threads see the requests of its node, and so can give way to them", async () => {
    const { url } = await serviceNode(database, { backtestThread: counting });
    const { api_key } = await (await testOrganization(database.db)).key();
    const ended = new AbortController();
    const answer = await post(url, api_key, ended.signal);
    let heard = "";
    const reading = answer.body?.pipeThrough(new TextDecoderStream()).pipeTo(
      new WritableStream({
        write: (text) => {
          heard += text;
        },
      }),
    );
    // The counts of two threads are added, so the test's own request counts twice.
    await expect.poll(() => heard, { timeout: 60_000 }).toContain('"evaluated":2,');
    for (let n = 0; n < 3; n += 1) expect((await call(url, "GET", "/v1/packs", { key: api_key })).status).toBe(200);
    await expect.poll(() => heard, { timeout: 60_000 }).toContain('"evaluated":8,');
    ended.abort();
    await expect(reading).rejects.toThrow();
  });

  test("stopping the service ends what runs", async () => {
    const { url, close } = await serviceNode(database, { backtestThread: busy });
    const { api_key } = await (await testOrganization(database.db)).key();
    const answer = await post(url, api_key);
    const [text] = await Promise.all([answer.text(), close()]);
    expect(JSON.parse(text.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({ error: { code: "unavailable" } });
  });
});

/** Returns requested and received rows of each page, and the most pages in memory. */
async function pagesOf(org_id: string, page_rows: number) {
  const sizes: number[] = [];
  const asked: number[] = [];
  let in_memory = 0;
  let most = 0;
  const watched = (query: Query): Query => {
    const wrapped = async (text: string, params?: readonly unknown[]) => {
      const rows = await query<{ verdict?: Verdict }>(text, params);
      if (text.includes("as decision_end") && rows.length > 0) {
        asked.push(Number(params?.at(-1)));
        sizes.push(rows.length);
        in_memory += 1;
        most = Math.max(most, in_memory);
      }
      return rows;
    };
    return wrapped as Query;
  };
  const turns: Turn[] = [firstTurn(1_000)];
  let wake: () => void = () => undefined;
  const part = await replayRecorded(
    {
      read: (work) => database.db.tenant(org_id, (query) => work(watched(query))),
      packs: new Map(),
      pageRows: () => page_rows,
      async turn() {
        while (turns.length === 0)
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        return turns.shift() as Turn;
      },
      pass(turn) {
        turns.push(turn);
        wake();
      },
      // Called once for each page of fewer than 50 rows.
      async progress() {
        in_memory -= 1;
      },
    },
    jobOf(org_id),
  );
  return { sizes, asked, most, figures: joinParts(jobOf(org_id), [part]) };
}

test("at most two pages are in memory, none larger than requested, and every intent is read once", async () => {
  const { url } = await serviceNode(database);
  const { org, agent } = await reviewedOrganization(database.db, url);
  const intents = Array.from({ length: 23 }, () => heldBody);
  await call(url, "POST", "/v1/intents/batch", { key: agent, body: { intents } });
  const { sizes, most, figures } = await pagesOf(org.org_id, 5);
  expect(sizes).toEqual([5, 5, 5, 5, 3]);
  expect(most).toBeLessThanOrEqual(2);
  expect(figures.evaluated).toBe(23);
  // The reader has no packs, so no recorded set can be reproduced.
  expect(figures.not_reproduced.total).toBe(23);
  expect(new Set(figures.not_reproduced.intents.map(({ because }) => because))).toEqual(new Set(["packs_changed"]));
  expect(new Set(figures.not_reproduced.intents.map(({ intent_id }) => intent_id)).size).toBe(23);
});

describe("an organization with 20 large intents", () => {
  let org_id: string;
  beforeAll(async () => {
    const { url } = await serviceNode(database);
    const { org, agent } = await reviewedOrganization(database.db, url);
    ({ org_id } = org);
    for (let n = 0; n < 20; n += 1)
      expect((await call(url, "POST", "/v1/intents", { key: agent, body: largeBody })).status).toBe(201);
  });

  test("a thread reads its next page while it waits for other rows of the page before, however long", async () => {
    const operator = await openClient(database.connection, "operator");
    onTestFinished(() => operator.end());
    // The table is needed for settings, but not for pages.
    await operator.query("begin; lock table org_heads in access exclusive mode");
    const threads = createBacktestThreads(database, new Map(), silentLog, newRequestCount());
    onTestFinished(() => threads.stop());
    const { code } = begin(threads, org_id);
    const waiting = async () => (await operator.query(waitingFor("org_heads"))).rowCount;
    await expect.poll(waiting, { timeout: 60_000 }).toBeGreaterThan(1);
    // Longer than the timeout of a session.
    await sleep(6_000);
    await operator.query("commit");
    expect(await code).toBe("none");
  });

  test("a page ends when its documents reach 8 MiB as text, however well they compress, and the next one is smaller", async () => {
    const { sizes, asked, figures } = await pagesOf(org_id, 1_000);
    expect(sizes).toEqual([8, 8, 4]);
    expect(asked).toEqual([100, 16, 16]);
    expect(figures.evaluated).toBe(20);
  });
});
