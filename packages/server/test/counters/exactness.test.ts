/** Source: docs/decisions/0047. No node of these tests has Redis. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { fewRuns } from "../../../../scripts/property-runs.ts";
import type { Clock } from "../../src/ports.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { limitedOrganization, payment, shownSpent, spentByAgent } from "../../src/testing/people/limits.ts";
import type { Reviewed } from "../../src/testing/people/review.ts";

const database = await testDatabase();

describe("64 clients on four nodes spend 1,000 in steps of 7", () => {
  const clients = 64;
  const limit = 1_000;
  const step = 7;
  let urls: readonly string[];
  let org: Reviewed;
  beforeAll(async () => {
    urls = await Promise.all(Array.from({ length: 4 }, async () => (await serviceNode(database)).url));
    const spec = { ...spentByAgent, when: `count.spent.sum > ${limit}.0`, effect: "block" };
    org = await limitedOrganization(database.db, urls[0] ?? "", { limit: spec });
  });

  /** Retries as the SDK does, because a busy machine may answer 503. */
  async function verdictOf(url: string, agent: string): Promise<string> {
    const headers = { "Idempotency-Key": randomUUID() };
    for (;;) {
      const { status, text, json } = await call(url, "POST", "/v1/intents", {
        ...{ key: org.agent, body: payment(step, agent), headers },
      });
      if (status === 201 || status === 200) return json.decision.verdict;
      if (status !== 503) throw new Error(text);
    }
  }

  /** Returns the number of approvals before the first block. */
  async function spendAll(url: string, agent: string): Promise<number> {
    for (let approvals = 0; ; approvals += 1) {
      const verdict = await verdictOf(url, agent);
      if (verdict === "block") return approvals;
      expect(verdict).toBe("approve");
    }
  }

  test.each(Array.from({ length: fewRuns(100) }, (_, n) => `agent-${n + 1}`))(
    "the approvals of %s add up to 994",
    async (agent) => {
      const approvals = await Promise.all(
        Array.from({ length: clients }, (_, n) => spendAll(urls[n % urls.length] ?? "", agent)),
      );
      const n = approvals.reduce((sum, each) => sum + each, 0);
      expect(n * step).toBeLessThanOrEqual(limit);
      expect(n * step).toBeGreaterThan(limit - step);
      for (const url of urls) expect(await shownSpent(url, org, agent)).toEqual({ n, sum: n * step, waiting_sum: 0 });
    },
  );
});

describe("an amount leaves its window", () => {
  const us_per_ms = 1_000;
  let now_us = 0;
  const clock: Clock = { now_us: () => now_us };
  let urls: readonly string[];
  beforeAll(async () => {
    now_us = Date.now() * us_per_ms;
    urls = [(await serviceNode(database, { clock })).url, (await serviceNode(database, { clock })).url];
  });

  /** Returns what both nodes decide about the smallest amount when 100 of 100 were spent at the start of a window. */
  async function verdictsAfter(window: unknown, start_ms: number, passed_us: number): Promise<readonly string[]> {
    const counters = [{ ...spentByAgent.counters[0], window }];
    const spec = { ...spentByAgent, counters, when: "count.spent.sum > 100.0", effect: "block" };
    const org = await limitedOrganization(database.db, urls[0] ?? "", { limit: spec });
    const submit = async (url: string, amount: number): Promise<string> =>
      (await call(url, "POST", "/v1/intents", { key: org.agent, body: payment(amount) })).json.decision.verdict;
    now_us = start_ms * us_per_ms;
    expect(await submit(urls[0] ?? "", 100)).toBe("approve");
    now_us += passed_us;
    const verdicts = [];
    for (const url of urls) verdicts.push(await submit(url, 0.000001));
    return verdicts;
  }

  const minute_ms = 60_000;
  const hour_ms = 60 * minute_ms;
  const this_hour_ms = Math.floor(Date.now() / hour_ms) * hour_ms;

  test.each([
    ["a sliding minute", "1m", minute_ms],
    ["a calendar hour", { calendar: "hour" }, hour_ms],
  ] as const)("at the end of %s, and not a microsecond before", async (_, window, length_ms) => {
    const length_us = length_ms * us_per_ms;
    for (const early_us of [us_per_ms, 1])
      expect(await verdictsAfter(window, this_hour_ms, length_us - early_us)).toEqual(["block", "block"]);
    expect(await verdictsAfter(window, this_hour_ms, length_us)).toEqual(["approve", "approve"]);
  });
});
