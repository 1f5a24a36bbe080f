import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call } from "../../packages/server/src/testing/nodes/http-node.ts";
import {
  limitedOrganization,
  payment,
  shownSpent,
  spentByAgent,
} from "../../packages/server/src/testing/people/limits.ts";
import { serviceProcess } from "./service-process.ts";

const database = await testDatabase();
const limit = 1_000;
const step = 7;

/** Returns null for the failure of a request that got no answer. */
function lostConnection(error: unknown): null {
  if (error instanceof TypeError) return null;
  throw error;
}

test("kill -9 under load loses no acknowledged approval, and what is left can be spent down to one step below the limit", async () => {
  const first = await serviceProcess(database);
  const spec = { ...spentByAgent, when: `count.spent.sum > ${limit}.0`, effect: "block" };
  const org = await limitedOrganization(database.db, first.url, { limit: spec });
  const acknowledged = new Set<string>();
  const unanswered: string[] = [];

  /** Submits one step after another, until a block or the end of the process. */
  async function spendAll(url: string, unanswered_key?: string): Promise<void> {
    for (let key = unanswered_key ?? randomUUID(); ; key = randomUUID()) {
      const sent = { key: org.agent, body: payment(step), headers: { "Idempotency-Key": key } };
      const answer = await call(url, "POST", "/v1/intents", sent).catch(lostConnection);
      if (answer === null || answer.status === 503) return void unanswered.push(key);
      expect([200, 201], answer.text).toContain(answer.status);
      if (answer.json.decision.verdict === "block") return;
      acknowledged.add(answer.json.intent_id);
      if (acknowledged.size === 20) first.process.kill("SIGKILL");
    }
  }

  await Promise.all(Array.from({ length: 64 }, () => spendAll(first.url)));
  await first.finished;
  const entries = "select intent_id from counter_entries where org_id = $1";
  const storedIds = async () =>
    (await database.db.query<{ intent_id: string }>(entries, [org.org.org_id])).map(({ intent_id }) => intent_id);
  const stored = new Set(await storedIds());
  expect([...acknowledged].filter((intent_id) => !stored.has(intent_id))).toEqual([]);
  expect(stored.size).toBeLessThanOrEqual(acknowledged.size + unanswered.length);
  expect(stored.size * step).toBeLessThan(limit - step);
  expect(unanswered.length).toBeGreaterThan(0);

  const second = await serviceProcess(database);
  for (let keys = unanswered.splice(0); keys.length > 0; keys = unanswered.splice(0))
    await Promise.all(keys.map((key) => spendAll(second.url, key)));
  expect((await storedIds()).toSorted()).toEqual([...acknowledged].toSorted());
  const n = Math.floor(limit / step);
  expect(await shownSpent(second.url, org)).toEqual({ n, sum: n * step, waiting_sum: 0 });
}, 300_000);
