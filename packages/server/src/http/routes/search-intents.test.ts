import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { call } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";
import { activatePayPolicy, type Reviewed, reviewedOrganization } from "../../testing/people/review.ts";

const database = await testDatabase();
let url: string;
let of: Reviewed;
const made: Record<string, string> = {};

const post = async (path: string, key: string, body: unknown) => (await call(url, "POST", path, { key, body })).json;

async function submit(name: string, agent: object, amount: number, target: string, summary: string): Promise<void> {
  const { intent_id } = await post("/v1/intents", of.agent, {
    intent: {
      agent: { id: "bot", ...agent },
      action: { type: "payment.transfer", verb: "pay", target: { identifier: target } },
      payload: { summary, content: { amount } },
    },
  });
  made[intent_id] = name;
}
const idOf = (name: string) => Object.entries(made).find(([, each]) => each === name)?.[0] ?? "";

async function list(query: string, key = of.reviewer) {
  const { json } = await call(url, "GET", `/v1/intents?${query}`, { key });
  return json as {
    intents: { intent_id: string; reason: object | null; afterwards: string[] }[];
    searched_to?: string;
  };
}
const names = async (query: string, key = of.reviewer) =>
  (await list(query, key)).intents.map(({ intent_id }) => made[intent_id]);

beforeAll(async () => {
  ({ url } = await serviceNode(database));
  of = await reviewedOrganization(database.db, url, { packs: [] });
  await activatePayPolicy(url, of, "large", { when: "params.amount > 1000", effect: "block", escalation: {} });
  await activatePayPolicy(url, of, "medium", { when: "params.amount > 100", effect: "escalate", escalation: {} });
  await submit("small", { session_id: "run-1" }, 1, "acc_1", "Lunch for Ann");
  await submit("held", { session_id: "run-1", on_behalf_of: "ann" }, 200, "acc_2", "New chair");
  await submit("blocked", { on_behalf_of: "bob" }, 2_000, "acc_1", "A CHAIRLIFT");
  await submit("blocked twice", {}, 3_000, "acc_3", "Desk");
  await submit("withdrawn", {}, 300, "acc_3", "Lamp");
  await post(`/v1/intents/${idOf("blocked")}/override`, of.operator, { reason: "seen it" });
  await post(`/v1/intents/${idOf("small")}/observations`, of.agent, { status: "executed" });
  await post(`/v1/intents/${idOf("blocked twice")}/observations`, of.agent, { status: "executed" });
  const { json } = await call(url, "GET", `/v1/intents/${idOf("withdrawn")}/decision`, { key: of.agent });
  await post(`/v1/escalations/${json.decision.escalation_id}/withdraw`, of.agent, { reason: "not needed" });
});

describe("a list of intents", () => {
  test.each([
    ["rule=large", ["blocked twice", "blocked"]],
    ["rule=medium&on_behalf_of=ann", ["held"]],
    ["rule=nobody", []],
    ["tool=pay&target=acc_1", ["blocked", "small"]],
    ["tool=refund", []],
    ["session_id=run-1", ["held", "small"]],
    ["on_behalf_of=bob", ["blocked"]],
    ["text=chair", ["blocked", "held"]],
    ["outcome=waiting", ["held"]],
    ["outcome=overridden", ["blocked"]],
    ["outcome=withdrawn", ["withdrawn"]],
    ["outcome=contradicted", ["blocked twice"]],
    ["outcome=executed&verdict=approve", ["small"]],
    ["outcome=failed", []],
  ])("can be searched: %s", async (query, found) => {
    expect(await names(query)).toEqual(found);
    expect(await names(query, of.agent)).toEqual(found);
  });

  test("says which rule acted first and what happened afterwards", async () => {
    const { intents, searched_to } = await list("");
    expect(intents.map(({ intent_id, reason, afterwards }) => [made[intent_id], reason, afterwards])).toMatchObject([
      ["withdrawn", { policy: "medium" }, ["withdrawn"]],
      ["blocked twice", { policy: "large" }, ["contradicted"]],
      ["blocked", { policy: "large" }, ["overridden"]],
      ["held", { policy: "medium" }, []],
      ["small", null, []],
    ]);
    expect(searched_to).toBeUndefined();
  });

  test("shows nothing to the key of another organization", async () => {
    const other = await reviewedOrganization(database.db, url, { packs: [] });
    expect(await names("tool=pay", other.reviewer)).toEqual([]);
  });
});
