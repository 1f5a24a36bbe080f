/** Source: docs/decisions/0011. */
import { limits } from "@countersign/contract";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { createClock } from "../../src/edge/clock.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { blockedBody, heldBody, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

vi.setConfig({ testTimeout: 180_000 });
const database = await testDatabase();
const { escalations_pending_per_agent_max: agentMax, escalations_pending_per_key_max: keyMax } = limits;
/** Moves the clock, because nodes briefly cache that a queue was nearly empty. */
let ahead_us = 0;
const real = createClock();
let urls: [string, string];
beforeAll(async () => {
  const clock = { now_us: () => real.now_us() + ahead_us };
  urls = [(await serviceNode(database, { clock })).url, (await serviceNode(database, { clock })).url];
});

const organization = () => reviewedOrganization(database.db, urls[0]);
const submit = (key: string, body: object = heldBody, node = 0, headers = {}) =>
  call(urls[node] ?? "", "POST", "/v1/intents", { key, body, headers });
const by = (id: string, n = 0) => ({
  ...heldBody,
  intent: { ...heldBody.intent, agent: { id }, payload: { content: { n } } },
});
const codeOf = ({ status, json }: Awaited<ReturnType<typeof submit>>) =>
  status === 201 ? json.decision.verdict : json.error.code;

/** Adds `count` copies of the newest pending review to the agent's queue. */
async function fill({ org }: Reviewed, agent_id: string, count: number) {
  const rows = await database.db.query(
    `insert into escalations (org_id, escalation_id, intent_id, decision_id, agent_id, mode, status, record, created_at,
       expires_at, demands, lineage_id, fingerprint)
     select org_id, 'esc_' || lpad(n::text, 26, '0'), intent_id, decision_id, $2, mode, status, record, created_at,
       expires_at, demands, lineage_id, sha256(n::text::bytea)
     from (select * from escalations where org_id = $1 and status = 'pending' order by escalation_id desc limit 1) as e,
       generate_series((select count(*) from escalations where org_id = $1), (select count(*) from escalations where org_id = $1) + $3 - 1) as n
     returning escalation_id`,
    [org.org_id, agent_id, count],
  );
  expect(rows).toHaveLength(count);
  ahead_us += 2_000_000;
}

describe("the cap on one agent", () => {
  test(`accepts the ${agentMax}th and refuses the next without storing it, until one is decided`, async () => {
    const org = await organization();
    const first = await submit(org.agent);
    await fill(org, "agent-1", agentMax - 2);
    expect(codeOf(await submit(org.agent, heldBody, 1))).toBe("escalate");
    const stored = async () =>
      (await database.db.query("select from intents where org_id = $1", [org.org.org_id])).length;
    const before = await stored();
    for (const node of [0, 1]) {
      const refused = await submit(org.agent, heldBody, node);
      expect([refused.status, refused.json.error.code]).toEqual([409, "review_queue_full"]);
      expect(refused.json.error.details[0]).toMatchObject({ agent_id: "agent-1", pending_max: agentMax });
    }
    expect(await stored()).toBe(before);
    const { escalation_id } = first.json.decision;
    const decision = { key: org.reviewer, body: { outcome: "block" } };
    expect((await call(urls[0], "POST", `/v1/escalations/${escalation_id}/decision`, decision)).status).toBe(200);
    expect([codeOf(await submit(org.agent)), codeOf(await submit(org.agent))]).toEqual([
      "escalate",
      "review_queue_full",
    ]);
  });

  test("limits reviews only: approved and blocked actions and other agents are answered as usual", async () => {
    const org = await organization();
    await submit(org.agent);
    await fill(org, "agent-1", agentMax);
    const approved = { intent: { ...blockedBody.intent } };
    const answers = [await submit(org.agent, blockedBody), await submit(org.agent, approved)];
    answers.push(await submit(org.agent, by("agent-2")), await submit(org.agent, heldBody));
    expect(answers.map(codeOf)).toEqual(["block", "approve", "escalate", "review_queue_full"]);
  });

  test("counts live and test mode separately, and shadow mode not at all", async () => {
    const org = await organization();
    await submit(org.agent);
    await fill(org, "agent-1", agentMax);
    const { api_key } = await org.org.key({ role: "agent", environment: "test" });
    const shadow = await call(urls[0], "POST", "/v1/intents?mode=shadow", { key: org.agent, body: heldBody });
    expect([codeOf(await submit(api_key)), codeOf(shadow)]).toEqual(["escalate", "escalate"]);
    await database.db.query("update escalations set mode = 'test' where org_id = $1", [org.org.org_id]);
    ahead_us += 2_000_000;
    expect([codeOf(await submit(api_key)), codeOf(await submit(org.agent))]).toEqual(["review_queue_full", "escalate"]);
  });

  test("replays earlier answers, even if full", async () => {
    const org = await organization();
    const headers = { "Idempotency-Key": "once" };
    const first = await submit(org.agent, heldBody, 0, headers);
    await fill(org, "agent-1", agentMax);
    const again = await submit(org.agent, heldBody, 1, headers);
    expect([again.headers.get("idempotent-replayed"), again.text]).toEqual(["true", first.text]);
    const other = await submit(org.agent, heldBody, 1, { "Idempotency-Key": "new" });
    expect(codeOf(other)).toBe("review_queue_full");
  });

  test("40 at once for the last 10 places: one node gives 10, two nodes at most 11", async () => {
    for (const [nodes, most] of [
      [1, 10],
      [2, 11],
    ] as const) {
      const org = await organization();
      await submit(org.agent);
      await fill(org, "agent-1", agentMax - 11);
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, n) => submit(org.agent, by("agent-1", n), n % nodes)),
      );
      const held = answers.filter((each) => each.status === 201).length;
      expect(held).toBeGreaterThanOrEqual(10);
      expect(held).toBeLessThanOrEqual(most);
      const refused = answers.filter((each) => each.status !== 201);
      expect(new Set(refused.map(codeOf))).toEqual(new Set(["review_queue_full"]));
    }
  });

  test("items of a batch over the cap fail alone, the last ones first", async () => {
    const org = await organization();
    await submit(org.agent);
    await fill(org, "agent-1", agentMax - 4);
    const { intent } = blockedBody;
    const intents = [by("agent-1", 1), by("agent-1", 2), { intent }, by("agent-1", 3), by("agent-1", 4), { intent }];
    const { status, json } = await call(urls[0], "POST", "/v1/intents/batch", { key: org.agent, body: { intents } });
    expect([status, json.succeeded, json.failed]).toEqual([200, 5, 1]);
    const outcomes = json.results.map((each: { error?: { code: string }; decision?: { verdict: string } }) =>
      each.error === undefined ? each.decision?.verdict : each.error.code,
    );
    expect(outcomes).toEqual(["escalate", "escalate", "approve", "escalate", "review_queue_full", "approve"]);
  });
});

test(`one API key has at most ${keyMax} reviews open, whatever agents it names, also after it is rotated`, async () => {
  const org = await organization();
  await submit(org.agent);
  for (let n = 0; n < 5; n++) await fill(org, `made-up-${n}`, agentMax - 1);
  const answers = await Promise.all([0, 1, 2, 3].map((n) => submit(org.agent, by(`new-${n}`))));
  expect(answers.map(codeOf)).toEqual(Array(4).fill("escalate"));
  expect(codeOf(await submit(org.agent, by("new-4")))).toBe("review_queue_full");
  const keys = (await call(urls[0], "GET", "/v1/api-keys", { key: org.admin })).json.api_keys;
  const { key_id } = keys.find((each: { role: string }) => each.role === "agent");
  const { api_key } = (await call(urls[0], "POST", `/v1/api-keys/${key_id}/rotate`, { key: org.agent })).json;
  expect(codeOf(await submit(api_key, by("new-5")))).toBe("review_queue_full");
  expect(codeOf(await submit((await org.org.key({ role: "agent" })).api_key, by("new-6")))).toBe("escalate");
  // Closed reviews and reviews of another mode do not count.
  const pending =
    "select escalation_id from escalations where org_id = $1 and agent_id = 'made-up-0' and status = 'pending' limit 1";
  await database.db.query(`update escalations set status = 'cancelled' where escalation_id = (${pending})`, [
    org.org.org_id,
  ]);
  ahead_us += 2_000_000;
  expect(codeOf(await submit(api_key, by("new-7")))).toBe("escalate");
  expect(codeOf(await submit(api_key, by("new-8")))).toBe("review_queue_full");
  await database.db.query("update escalations set mode = 'test' where org_id = $1", [org.org.org_id]);
  ahead_us += 2_000_000;
  expect(codeOf(await submit(api_key, by("new-8")))).toBe("escalate");
});

describe("equal reviews", () => {
  test("are counted in lists while they are pending, and grouped on demand", async () => {
    const org = await organization();
    const ids: string[] = [];
    for (const body of [by("a", 1), by("a", 1), by("b", 1), by("a", 2), by("a", 1)])
      ids.push((await submit(org.agent, body)).json.decision.escalation_id);
    const { api_key } = await org.org.key({ role: "agent", environment: "test" });
    await submit(api_key, by("a", 1));
    const list = async (query: string) => {
      const { json } = await call(urls[0], "GET", `/v1/escalations${query}`, { key: org.reviewer });
      return json.escalations.map((each: { escalation_id: string; equal_pending?: number }) => [
        ids.indexOf(each.escalation_id),
        each.equal_pending,
      ]);
    };
    expect(await list("")).toEqual([
      [4, 3],
      [3, 1],
      [2, 1],
      [1, 3],
      [0, 3],
    ]);
    expect(await list("?status=pending&group=equal")).toEqual([
      [4, 3],
      [3, 1],
      [2, 1],
    ]);
    const body = { outcome: "block" };
    await call(urls[0], "POST", `/v1/escalations/${ids[4]}/decision`, { key: org.reviewer, body });
    expect(await list("?group=equal")).toEqual([
      [4, undefined],
      [3, 1],
      [2, 1],
      [1, 2],
    ]);
    const one = await call(urls[0], "GET", `/v1/escalations/${ids[1]}`, { key: org.reviewer });
    expect(one.json.escalation.equal_pending).toBeUndefined();
    expect((await call(urls[0], "GET", "/v1/escalations?group=same", { key: org.reviewer })).status).toBe(400);
  });
});
