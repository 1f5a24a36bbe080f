import { beforeAll, describe, expect, test } from "vitest";
import { changePlan } from "../../operations/organizations/change-plan.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { call, testOrganization } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";

const database = await testDatabase();
const { db } = database;
let node: Awaited<ReturnType<typeof serviceNode>>;
let url: string;
let second: string;
beforeAll(async () => {
  node = await serviceNode(database);
  ({ url } = node);
  ({ url: second } = await serviceNode(database));
});

const intent = { agent: { id: "agent-1" }, action: { type: "communication.email", verb: "send_email" } };
const submit = (key: string, base = url, query = "") =>
  call(base, "POST", `/v1/intents${query}`, { key, body: { intent } });
const defaultOf = async (key: string) =>
  (await call(url, "GET", "/v1/membranes", { key })).json.membranes.at(-1).membrane_id;

describe("usage and quota", () => {
  async function limited(hard_limit: number) {
    const own = await testOrganization(db);
    const key = (await own.key()).api_key;
    await call(url, "POST", `/v1/membranes/${await defaultOf(key)}/go-live`, { key });
    await changePlan(
      node.runtime,
      { org_id: own.org_id, actor: "system" },
      { plan_id: "starter", included_actions: 5, hard_limit },
    );
    const usage = async () => (await call(url, "GET", "/v1/usage", { key })).json.usage;
    return { own, key, usage };
  }

  test("a new organization is unlimited and has used nothing; the period is the calendar month in UTC", async () => {
    const { api_key: key } = await (await testOrganization(db)).key();
    const { json } = await call(url, "GET", "/v1/usage", { key });
    const month = new Date().toISOString().slice(0, 7);
    expect(json.usage).toMatchObject({
      plan_id: "unlimited",
      included_actions: null,
      hard_limit: null,
      batch_size: null,
    });
    expect(json.usage.period_start).toBe(`${month}-01T00:00:00.000000Z`);
    expect(json.usage.period_end > json.usage.period_start).toBe(true);
  });

  test("the months before are there, oldest first, with 0 for a month without decisions, and at most 12", async () => {
    const { own, usage } = await limited(10);
    const at = (months: number) => {
      const now = new Date();
      return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1)).toISOString().slice(0, 7);
    };
    expect((await usage()).months).toEqual([{ month: at(0), used_actions: 0 }]);
    for (const [months, used] of [
      [14, 9],
      [3, 7],
      [1, 5],
    ] as const)
      await db.query("insert into usage_periods (org_id, period, used) values ($1, $2, $3)", [
        own.org_id,
        at(months),
        used,
      ]);
    expect((await usage()).months).toEqual([
      { month: at(3), used_actions: 7 },
      { month: at(2), used_actions: 0 },
      { month: at(1), used_actions: 5 },
      { month: at(0), used_actions: 0 },
    ]);
  });

  test("of 100 concurrent submissions on two nodes with a limit of 10, exactly 10 are decided and 90 are 402", async () => {
    const { key, usage } = await limited(10);
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => submit(key, n % 2 === 0 ? url : second)));
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(10);
    const refused = answers.filter((answer) => answer.status === 402);
    expect(refused).toHaveLength(90);
    expect(refused[0]?.json.error.code).toBe("quota_exceeded");
    expect(await usage()).toMatchObject({
      plan_id: "starter",
      included_actions: 5,
      used_actions: 10,
      hard_limit: 10,
      batch_size: 1,
    });
  });

  test("shadow and test decisions do not count, also beyond the limit", async () => {
    const { own, key, usage } = await limited(1);
    const testKey = (await own.key({ environment: "test" })).api_key;
    expect((await submit(key, url, "?mode=shadow")).status).toBe(201);
    expect((await submit(testKey)).status).toBe(201);
    expect((await usage()).used_actions).toBe(0);
    expect([(await submit(key)).status, (await submit(key)).status]).toEqual([201, 402]);
    expect((await submit(key, url, "?mode=shadow")).status).toBe(201);
  });

  test("of a batch beyond the limit, as many as fit are decided, the rest fail singly, and its size is reported", async () => {
    const { key, usage } = await limited(3);
    const body = { intents: Array.from({ length: 5 }, () => ({ intent })) };
    const { json } = await call(url, "POST", "/v1/intents/batch", { key, body });
    expect(json).toMatchObject({ total: 5, succeeded: 3, failed: 2 });
    expect(json.results[4].error.code).toBe("quota_exceeded");
    expect(await usage()).toMatchObject({ used_actions: 3, batch_size: 5 });
  });
});
