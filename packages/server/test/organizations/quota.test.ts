import { beforeAll, describe, expect, test } from "vitest";
import { createClock } from "../../src/edge/clock.ts";
import { createIds } from "../../src/edge/ids.ts";
import { changePlan } from "../../src/operations/organizations/change-plan.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { blockedBody, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";
import { listen, told } from "../../src/testing/people/told.ts";

const database = await testDatabase();
const { db } = database;
const clock = createClock();
let urls: string[];
beforeAll(async () => {
  urls = [(await serviceNode(database)).url, (await serviceNode(database)).url];
});

const body = { intent: blockedBody.intent };
/** A live organization with a webhook and this many decisions left. */
async function limited(left: number): Promise<Reviewed> {
  const org = await reviewedOrganization(db, urls[0] ?? "");
  await listen(db, org.org.org_id);
  await db.query("update org_heads set hard_limit = $2::bigint where org_id = $1", [org.org.org_id, left]);
  return org;
}
const submit = (org: Reviewed, node = 0, more: object = {}, headers = {}, key = org.agent) =>
  call(urls[node] ?? "", "POST", "/v1/intents", { key, body: { ...body, ...more }, headers });
const submitBatch = (org: Reviewed, node: number, intents: readonly object[]) =>
  call(urls[node] ?? "", "POST", "/v1/intents/batch", { key: org.agent, body: { intents } });
const usage = async (org: Reviewed) => (await call(urls[1] ?? "", "GET", "/v1/usage", { key: org.admin })).json.usage;
const stored = async ({ org }: Reviewed) =>
  (await db.query("select from intents where org_id = $1 and mode = 'live'", [org.org_id])).length;
async function toldOf({ org }: Reviewed) {
  const events = await told<{ event_type: string; data: object; intent_id: null }>(db, org.org_id);
  return events.filter(({ event_type }) => event_type === "quota.exceeded");
}

test("100 at once on two nodes with 37 left: 37 are decided, 63 are 402, one event", async () => {
  const org = await limited(37);
  const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => submit(org, n % 2)));
  const statuses = answers.map((each) => each.status).sort();
  expect(statuses).toEqual([...Array(37).fill(201), ...Array(63).fill(402)]);
  const { error } = answers.find((each) => each.status === 402)?.json ?? {};
  const used = await usage(org);
  expect(error).toMatchObject({ code: "quota_exceeded" });
  expect(error.details).toEqual([{ period: used.period_start.slice(0, 7), used_actions: 37, hard_limit: 37 }]);
  expect([await stored(org), used.used_actions]).toEqual([37, 37]);
  const events = await toldOf(org);
  expect(events).toHaveLength(1);
  expect(events[0]).toMatchObject({ event_type: "quota.exceeded", intent_id: null, organization_id: org.org.org_id });
  expect(events[0]?.data).toEqual({
    plan_id: "unlimited",
    included_actions: 37, // without a number in the plan, the hard limit
    used_actions: 37,
    hard_limit: 37,
    batch_size: 1,
    timestamp: expect.stringMatching(/\.\d{6}Z$/),
  });
});

test("in a batch over the limit the last items fail alone; the event has the batch size", async () => {
  const org = await limited(20);
  const answer = await call(urls[0] ?? "", "POST", "/v1/intents/batch", {
    key: org.agent,
    body: { intents: Array(50).fill(body) },
  });
  expect([answer.status, answer.json.succeeded, answer.json.failed]).toEqual([200, 20, 30]);
  const outcomes = answer.json.results.map((each: { success: boolean; error?: { code: string } }) =>
    each.success ? "decided" : each.error?.code,
  );
  expect(outcomes).toEqual([...Array(20).fill("decided"), ...Array(30).fill("quota_exceeded")]);
  expect((await toldOf(org)).map((each) => (each.data as { batch_size: number }).batch_size)).toEqual([50]);
  expect(await stored(org)).toBe(20);
});

test("two batches of 50 and 50 single intents at once: exactly the limit, one event", async () => {
  const org = await limited(60);
  const batch = (node: number) =>
    call(urls[node] ?? "", "POST", "/v1/intents/batch", { key: org.agent, body: { intents: Array(50).fill(body) } });
  const singles = Array.from({ length: 50 }, (_, n) => submit(org, n % 2));
  const [one, two, ...rest] = await Promise.all([batch(0), batch(1), ...singles]);
  const decided = one.json.succeeded + two.json.succeeded + rest.filter((each) => each.status === 201).length;
  expect([decided, await stored(org), (await usage(org)).used_actions]).toEqual([60, 60, 60]);
  expect(await toldOf(org)).toHaveLength(1);
});

describe("at the limit", () => {
  test("shadow and test mode continue, uncounted", async () => {
    const org = await limited(0);
    const trial = (await org.org.key({ role: "agent", environment: "test" })).api_key;
    const shadow = await call(urls[0] ?? "", "POST", "/v1/intents?mode=shadow", { key: org.agent, body });
    const tried = await submit(org, 0, {}, {}, trial);
    expect([shadow.status, tried.status, (await submit(org)).status]).toEqual([201, 201, 402]);
    expect((await usage(org)).used_actions).toBe(0);
  });

  test("earlier answers are replayed, and a refused Idempotency-Key can be used again", async () => {
    const org = await limited(1);
    const first = await submit(org, 0, {}, { "Idempotency-Key": "a" });
    expect((await submit(org, 1, {}, { "Idempotency-Key": "b" })).status).toBe(402);
    const again = await submit(org, 1, {}, { "Idempotency-Key": "a" });
    expect([again.status, again.text]).toEqual([200, first.text]);
    await db.query("update org_heads set hard_limit = 2 where org_id = $1", [org.org.org_id]);
    const late = await submit(org, 1, {}, { "Idempotency-Key": "b" });
    expect([late.status, late.headers.get("idempotent-replayed")]).toEqual([201, null]);
  });

  test.each([
    ["alone", (org: Reviewed) => submit(org, 1, {}, { "Idempotency-Key": "last" })],
    ["in a batch", (org: Reviewed) => submitBatch(org, 1, [{ ...body, idempotency_key: "last" }])],
  ])("a repetition that waits while another node uses the last unit for it gets that answer: %s", async (_, send) => {
    const org = await limited(1);
    const { org_id } = org.org;
    const first = await submit(org, 0, {}, { "Idempotency-Key": "last" });
    const [kept] = await db.query("delete from idempotency_keys k where org_id = $1 returning to_json(k) as key", [
      org_id,
    ]);
    await db.query("update org_heads set usage_used = 0 where org_id = $1", [org_id]);
    let repeated: ReturnType<typeof submit> | undefined;
    // Imitates the other node: locks the head, then takes the last unit while the repetition waits.
    await db.system(async (query) => {
      await query("select from org_heads where org_id = $1 for update", [org_id]);
      const [me] = await query<{ pid: number }>("select pg_backend_pid() as pid");
      repeated = send(org);
      const waiting = "select from pg_locks where not granted and $1::integer = any(pg_blocking_pids(pid))";
      await expect.poll(async () => (await db.query(waiting, [me?.pid])).length).toBe(1);
      await query("update org_heads set usage_used = 1 where org_id = $1", [org_id]);
      await query("insert into idempotency_keys select * from json_populate_record(null::idempotency_keys, $1)", [
        kept?.["key"],
      ]);
    });
    const { status, json } = (await repeated) ?? {};
    expect(status).toBe(200);
    expect(json.results?.[0] ?? json).toMatchObject(first.json);
    expect(await toldOf(org)).toEqual([]);
  });

  test("a larger plan used up in the same month is also reported once; until then the usage reports no limit", async () => {
    const org = await limited(1);
    const plan = (hard_limit: number | null) =>
      changePlan(
        { db, clock, ids: createIds(clock) },
        { org_id: org.org.org_id, actor: "system" },
        { plan_id: "team", included_actions: 1, hard_limit },
      );
    const met = async () => (await usage(org)).batch_size;
    const statuses = async (n: number) => {
      const given: number[] = [];
      for (let each = 0; each < n; each += 1) given.push((await submit(org, each % 2)).status);
      return given;
    };
    expect([await statuses(2), await met()]).toEqual([[201, 402], 1]);
    await plan(1);
    expect([await met(), await statuses(1)]).toEqual([1, [402]]);
    await plan(2);
    expect([await met(), await statuses(3), await met()]).toEqual([null, [201, 402, 402], 1]);
    await plan(null);
    expect([await met(), await statuses(1)]).toEqual([null, [201]]);
    await plan(3);
    expect([await met(), await statuses(2), await met()]).toEqual([null, [402, 402], 1]);
    const limits = (await toldOf(org)).map(({ data }) => (data as { hard_limit: number }).hard_limit);
    expect(limits).toEqual([1, 2, 3]);
  });

  test("a new month starts at zero, keeps the old one, and reports the limit again", async () => {
    const org = await limited(1);
    expect([(await submit(org)).status, (await submit(org)).status]).toEqual([201, 402]);
    await db.query("update org_heads set usage_period = '2026-01' where org_id = $1", [org.org.org_id]);
    const answers = await Promise.all([submit(org), submit(org, 1), submit(org)]);
    expect(answers.map((each) => each.status).sort()).toEqual([201, 402, 402]);
    expect((await usage(org)).used_actions).toBe(1);
    const closed = await db.query("select period, used from usage_periods where org_id = $1", [org.org.org_id]);
    expect(closed).toEqual([{ period: "2026-01", used: 1 }]);
    expect(await toldOf(org)).toHaveLength(2);
  });
});
