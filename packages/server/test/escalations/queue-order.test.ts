import type { Escalation } from "@countersign/contract";
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { activatePayPolicy, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
let url: string;
let org: Reviewed;
/** Amounts, tools and agents of the seeded reviews, in the order of their submission. */
const seeded = [
  { verb: "pay", agent: "b-bot", content: { amount_usd: 740 }, stated: 12 },
  { verb: "wire", agent: "a-bot", content: {}, stated: 12_400.5 },
  { verb: "pay", agent: "c-bot", content: { amount_usd: 740 } },
  { verb: "export", agent: "a-bot", content: { rows: 3 } },
  { verb: "export", agent: "ä-bot", content: {} },
  { verb: "pay", agent: "a-bot", content: { note: "9", fee_usd: 9 } },
] as const;

beforeAll(async () => {
  url = (await serviceNode(database)).url;
  org = await reviewedOrganization(database.db, url, { packs: [], default_verdict: "escalate" });
  await activatePayPolicy(url, org, "payments-wait", { when: "true", escalation: {} });
  for (const { verb, agent, content, ...more } of seeded) {
    const impact = "stated" in more ? { estimated_impact: { financial_exposure_usd: more.stated } } : {};
    const intent = { agent: { id: agent }, action: { type: "other.thing", verb }, payload: { content }, ...impact };
    const { json } = await call(url, "POST", "/v1/intents", { key: org.agent, body: { intent } });
    expect(json.decision.verdict).toBe("escalate");
  }
});

const listed = async (query: string): Promise<Escalation[]> => {
  const { status, json, text } = await call(url, "GET", `/v1/escalations?${query}`, { key: org.reviewer });
  expect(status, text).toBe(200);
  return json.escalations;
};
const told = (rows: readonly Escalation[]) => rows.map(({ agent_id, action }) => `${agent_id} ${action.verb}`);

/** Reads all pages of one row. */
async function paged(query: string): Promise<Escalation[]> {
  const rows: Escalation[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const next: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const { json } = await call(url, "GET", `/v1/escalations?${query}&limit=1${next}`, { key: org.reviewer });
    rows.push(...json.escalations);
    cursor = json.next_cursor;
  }
  return rows;
}

describe("the order of the queue", () => {
  test.each([
    ["created_at", ["b-bot pay", "a-bot wire", "c-bot pay", "a-bot export", "ä-bot export", "a-bot pay"]],
    ["amount_usd", ["a-bot wire", "b-bot pay", "c-bot pay", "a-bot pay", "a-bot export", "ä-bot export"]],
    ["tool", ["a-bot export", "ä-bot export", "b-bot pay", "c-bot pay", "a-bot pay", "a-bot wire"]],
    ["agent_id", ["a-bot wire", "a-bot export", "a-bot pay", "b-bot pay", "c-bot pay", "ä-bot export"]],
    ["rule", ["a-bot wire", "a-bot export", "ä-bot export", "b-bot pay", "c-bot pay", "a-bot pay"]],
  ])("is that of %s, on one page and on pages of one row", async (order, expected) => {
    const query = `status=pending&order=${order}`;
    expect(told(await listed(query))).toEqual(expected);
    expect(told(await paged(query))).toEqual(expected);
  });

  test("a cursor of another order, or a changed one, is refused", async () => {
    const { json } = await call(url, "GET", "/v1/escalations?status=pending&order=tool&limit=1", { key: org.reviewer });
    for (const order of ["created_at", "amount_usd"]) {
      const path = `/v1/escalations?status=pending&order=${order}&cursor=${json.next_cursor}`;
      expect((await call(url, "GET", path, { key: org.reviewer })).json.error?.code).toBe("invalid_request");
    }
  });
});

describe("the filters of the queue", () => {
  test("the amount at stake is the larger one of the stated figure and the visible parameters", async () => {
    const amounts = (await listed("status=pending&order=created_at")).map(({ amount_usd }) => amount_usd);
    expect(amounts).toEqual([740, 12_400.5, 740, undefined, undefined, 9]);
  });

  test.each([
    ["tool=export", ["a-bot export", "ä-bot export"]],
    ["rule=payments-wait", ["b-bot pay", "c-bot pay", "a-bot pay"]],
    ["rule=payments", []],
    ["amount_usd_min=740", ["b-bot pay", "a-bot wire", "c-bot pay"]],
    ["amount_usd_max=740&amount_usd_min=10", ["b-bot pay", "c-bot pay"]],
    ["text=A-BOT%20ex", ["a-bot export"]],
    ["text=payments-w", ["b-bot pay", "c-bot pay", "a-bot pay"]],
    ["text=%25", []],
    ["uncovered=true", ["a-bot wire", "a-bot export", "ä-bot export"]],
    ["to=2020-01-01T00:00:00Z", []],
    ["from=2020-01-01T00:00:00Z&tool=wire", ["a-bot wire"]],
    ["missing_fact=facts.identity.account_status", []],
  ])("%s", async (filter, expected) => {
    expect(told(await listed(`status=pending&order=created_at&${filter}`))).toEqual(expected);
  });

  test("mine=only lists what the caller took, and nothing of others", async () => {
    const [, second] = await listed("status=pending&order=created_at");
    await call(url, "POST", `/v1/escalations/${second?.escalation_id}/take`, { key: org.reviewer, body: {} });
    expect(told(await listed("status=pending&order=created_at&mine=only"))).toEqual(["a-bot wire"]);
    const { json } = await call(url, "GET", "/v1/escalations?status=pending&mine=only", { key: org.operator });
    expect(json.escalations).toEqual([]);
  });

  test("a rule is found by its id, too", async () => {
    const [first] = await listed("status=pending&rule=payments-wait&order=created_at");
    const id = first?.panels[0]?.policy_id;
    expect(told(await listed(`status=pending&order=created_at&rule=${id}`))).toHaveLength(3);
  });
});
