import type { ListedAgent } from "@countersign/contract";
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { call } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";
import { limitedOrganization, spentByAgent } from "../../testing/people/limits.ts";
import { activatePayPolicy, type Reviewed, reviewedOrganization } from "../../testing/people/review.ts";

const database = await testDatabase();
const { db } = database;
let urls: [string, string];
beforeAll(async () => {
  urls = [(await serviceNode(database)).url, (await serviceNode(database)).url];
});

const open = () => reviewedOrganization(db, urls[0], { packs: [] });
const path = (agent: string) => `/v1/agents/${encodeURIComponent(agent)}`;
const register = (of: Reviewed, agent: string, body: object = {}, key = of.admin) =>
  call(urls[0], "PUT", path(agent), { key, body });
const get = (key: string, agent: string) => call(urls[0], "GET", path(agent), { key });
const list = async (of: Reviewed, query = "") =>
  (await call(urls[0], "GET", `/v1/agents${query}`, { key: of.reviewer })).json;
const pay = (id: string, amount: number, agent: object = {}) => ({
  intent: {
    agent: { id, ...agent },
    action: { type: "payment.transfer", verb: "pay" },
    payload: { content: { amount } },
  },
});
const submit = async (key: string, body: object) => (await call(urls[1], "POST", "/v1/intents", { key, body })).json;
const freeze = (of: Reviewed, agent: string) =>
  call(urls[0], "POST", `${path(agent)}/freeze`, {
    key: of.operator,
    body: { mode: "block", reason: "it pays twice" },
  });
const policy = (of: Reviewed, name: string, when: string, effect: "block" | "escalate" = "block") =>
  activatePayPolicy(urls[0], of, name, { when, effect, escalation: {} });

describe("the register", () => {
  test("has the agents that acted, in any spelling, and those that people registered", async () => {
    const of = await open();
    for (const id of ["Invoice-Bot", "invoice-bot", "Größe"]) await submit(of.agent, pay(id, 1));
    const registered = await register(of, "INVOICE-BOT", { owner: "Ann", purpose: "Pays invoices" });
    expect(registered.status).toBe(200);
    await register(of, "planner");
    const { agents } = await list(of);
    expect(agents).toMatchObject([
      { agent_id: "Größe", registered_by: null, status: "active", freezes: [] },
      { agent_id: "Invoice-Bot", owner: "Ann", purpose: "Pays invoices", parent_id: null },
      { agent_id: "planner", first_seen_at: null, last_seen_at: null },
    ]);
    expect(agents[0].first_seen_at).not.toBeNull();
    expect(
      agents.map((each: { days: { decisions: number }[] }) => each.days.map(({ decisions }) => decisions)),
    ).toEqual([
      [0, 0, 0, 0, 0, 0, 1],
      [0, 0, 0, 0, 0, 0, 2],
      [0, 0, 0, 0, 0, 0, 0],
    ]);
    expect((await list(of, "?prefix=INV")).agents).toHaveLength(1);
    const first = await list(of, "?limit=2");
    const rest = await list(of, `?limit=2&cursor=${first.next_cursor}`);
    expect([...first.agents, ...rest.agents]).toEqual(agents);
    expect(rest.next_cursor).toBeNull();
  });

  test("shows what one agent did, which tools no rule names, its keys, its reviews and what stops it", async () => {
    const of = await open();
    await policy(of, "ask", "params.amount > 10", "escalate");
    await register(of, "lead");
    await register(of, "bot", { parent_id: "LEAD" });
    await register(of, "helper", { parent_id: "bot" });
    const { key } = await of.org
      .key({ role: "agent", bindings: { ...unbound, agent_ids: ["Lead"] } })
      .then((made) => ({ key: made }));
    await submit(of.agent, pay("bot", 1));
    const held = await submit(of.agent, pay("bot", 20));
    await submit(of.agent, { intent: { agent: { id: "BOT" }, action: { verb: "read_page" } } });
    await freeze(of, "lead");
    const { agent } = (await get(of.reviewer, "Bot")).json;
    expect(agent).toMatchObject({
      agent_id: "bot",
      parent_id: "lead",
      ancestors: ["lead"],
      children: ["helper"],
      status: "frozen",
      freezes: [{ kind: "agent", name: "lead", reason: "it pays twice" }],
      keys: [{ key_id: key.key_id, role: "agent" }],
      activity: { decisions: 3, complete: true, verdicts: { approve: 2, escalate: 1, block: 0, approve_modified: 0 } },
    });
    expect(agent.activity.tools).toEqual([
      { verb: "pay", count: 2, named: true },
      { verb: "read_page", count: 1, named: false },
    ]);
    // The freeze under `block` closed it.
    expect(agent.open_reviews).toEqual({ count: 0, limit: 1_000, escalation_ids: [] });
    expect(held.decision.escalation_id).toMatch(/^esc_/);
  });

  test("lists what is left of each agent's tightest live budget, and how many of its tools no rule names", async () => {
    const limits = (limit: number) => ({ ...spentByAgent, when: `count.spent.sum > ${limit}.0`, effect: "block" });
    const of = await limitedOrganization(db, urls[0], { "day-limit": limits(1_000), "lower-limit": limits(400) });
    await submit(of.agent, pay("Bot", 100));
    await submit(of.agent, pay("other-bot", 1));
    for (const verb of ["read_page", "send_fax", "send_fax"])
      await submit(of.agent, { intent: { agent: { id: "bot" }, action: { verb } } });
    await register(of, "idle");
    const { agents } = await list(of);
    expect(
      agents.map((each: ListedAgent) => [each.agent_id.toLowerCase(), each.budget?.left, each.uncovered_tools]),
    ).toEqual([
      ["bot", 300, 2],
      ["idle", undefined, 0],
      ["other-bot", 399, 0],
    ]);
    expect(agents[0].budget).toEqual({ counter: "spent", field: "sum", limit: 400, left: 300 });
  });

  test("404 for an unknown agent, and for another organization's", async () => {
    const [of, other] = [await open(), await open()];
    await register(of, "bot");
    expect((await get(of.reviewer, "bot")).status).toBe(200);
    const [unknown, foreign] = [await get(of.reviewer, "nobody"), await get(other.reviewer, "bot")];
    expect([unknown.status, foreign.status]).toEqual([404, 404]);
    expect((await list(other)).agents).toEqual([]);
  });

  test("403 for keys of agents, and for everybody but admins who would write", async () => {
    const of = await open();
    await register(of, "bot");
    expect((await get(of.agent, "bot")).status).toBe(403);
    expect((await register(of, "bot", {}, of.operator)).status).toBe(403);
  });

  test("400 for a parent that is unknown, the agent itself, below it, or too deep", async () => {
    const of = await open();
    await register(of, "a0");
    const parent = async (agent: string, parent_id: string) => {
      const { status, json } = await register(of, agent, { parent_id });
      return status === 200 ? 200 : [status, json.error.details[0].path, json.error.details[0].code];
    };
    for (let n = 1; n <= 8; n += 1) expect(await parent(`a${n}`, `a${n - 1}`)).toBe(200);
    expect(await parent("a9", "a8")).toEqual([400, "/parent_id", "not_allowed"]);
    expect(await parent("a0", "A8")).toEqual([400, "/parent_id", "not_allowed"]);
    expect(await parent("a0", "a0")).toEqual([400, "/parent_id", "not_allowed"]);
    expect(await parent("a1", "nobody")).toEqual([400, "/parent_id", "not_allowed"]);
    await register(of, "top");
    expect(await parent("a0", "top")).toEqual([400, "/parent_id", "not_allowed"]);
  });

  test("of two changes at once that would make a circle, one is refused", async () => {
    const of = await open();
    for (const agent of ["a", "b"]) await register(of, agent);
    for (let round = 0; round < 5; round += 1) {
      const answers = await Promise.all([register(of, "a", { parent_id: "b" }), register(of, "b", { parent_id: "a" })]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
      for (const agent of ["a", "b"]) await register(of, agent);
    }
  });
});

const unbound = { membrane_ids: null, agent_ids: null, source_cidrs: null, forbid_shadow: false };

describe("a sub-agent", () => {
  test("is bound by rules about each agent above it, from the next decision after it was registered", async () => {
    const of = await open();
    await policy(of, "boss", 'agent.id == "boss" && params.amount > 10');
    for (const agent of ["boss", "lead"]) await register(of, agent);
    expect((await submit(of.agent, pay("worker", 20))).decision.verdict).toBe("approve");
    await register(of, "lead", { parent_id: "boss" });
    await register(of, "worker", { parent_id: "lead" });
    const { intent_id, decision } = await submit(of.agent, pay("worker", 20));
    expect(decision.verdict).toBe("block");
    expect(decision.reasons[0].message).toContain("(for the agent boss above this one)");
    const read = await call(urls[0], "GET", `/v1/intents/${intent_id}`, { key: of.reviewer });
    expect(read.json.ancestors).toEqual(["lead", "boss"].map((agent_id) => ({ agent_id, source: "register" })));
    expect((await submit(of.agent, pay("worker", 5))).decision.verdict).toBe("approve");
    await register(of, "worker");
    expect((await submit(of.agent, pay("worker", 20))).decision.verdict).toBe("approve");
  });

  test("gets no more than the stored limit of its parent, also when the action is decided again", async () => {
    const of = await open();
    await policy(of, "limit", "params.amount > facts.organizational.delegation_limit_usd");
    const store = (agent: string, delegation_limit_usd: number) =>
      call(urls[0], "PUT", `/v1/context/agents/${agent}`, {
        key: of.operator,
        body: { contract_version: "1", facts: { organizational: { delegation_limit_usd } } },
      });
    expect((await store("worker", 1_000)).status).toBeLessThan(300);
    await register(of, "lead");
    await register(of, "worker", { parent_id: "lead" });
    await store("lead", 100);
    expect((await submit(of.agent, pay("worker", 500))).decision.verdict).toBe("block");
    const { intent_id, decision } = await submit(of.agent, { ...pay("worker", 50), claim: "required" });
    expect(decision.verdict).toBe("approve");
    await store("lead", 10);
    const claim = await call(urls[1], "POST", `/v1/intents/${intent_id}/claim`, {
      key: of.agent,
      body: { nonce: "a-nonce-of-this-process" },
    });
    expect(claim.json.error.code).toBe("blocked_now");
  });

  test("names its parent itself where the register has none, and the parent's rules and freezes count", async () => {
    const of = await open();
    await policy(of, "boss", 'agent.id == "boss" && params.amount > 10');
    expect((await submit(of.agent, pay("temp", 20, { parent: "boss" }))).decision.verdict).toBe("block");
    const { intent_id, decision } = await submit(of.agent, {
      ...pay("temp", 5, { parent: "boss" }),
      claim: "required",
    });
    expect(decision.verdict).toBe("approve");
    await freeze(of, "boss");
    expect((await submit(of.agent, pay("temp", 5, { parent: "boss" }))).decision.verdict).toBe("block");
    const claim = await call(urls[1], "POST", `/v1/intents/${intent_id}/claim`, {
      key: of.agent,
      body: { nonce: "a-nonce-of-this-process" },
    });
    expect(claim.json.error.code).toBe("frozen");
    await register(of, "other");
    await register(of, "temp", { parent_id: "other" });
    expect((await submit(of.agent, pay("temp", 5, { parent: "boss" }))).decision.verdict).toBe("approve");
  });

  test("has at most eight agents above it, and its approvals count for those agents only", async () => {
    const of = await open();
    await policy(of, "large", "params.amount > 10");
    for (const agent of ["boss", "a0"]) await register(of, agent);
    for (let n = 1; n <= 8; n += 1) await register(of, `a${n}`, { parent_id: `a${n - 1}` });
    expect((await submit(of.agent, pay("temp", 1, { parent: "a7" }))).decision.verdict).toBe("approve");
    const deep = await submit(of.agent, pay("temp", 1, { parent: "a8" }));
    expect(deep.error.details).toMatchObject([{ path: "/intent/agent/parent", code: "not_allowed" }]);
    const blocked = await submit(of.agent, pay("temp", 20, { parent: "boss" }));
    await call(urls[0], "POST", `/v1/intents/${blocked.intent_id}/override`, {
      key: of.operator,
      body: { reason: "once" },
    });
    expect((await submit(of.agent, pay("temp", 20, { parent: "a0" }))).decision.verdict).toBe("block");
    expect((await submit(of.agent, pay("temp", 20, { parent: "Boss" }))).decision.verdict).toBe("approve");
  });

  test("of a registered agent may use a key that is bound to that agent; one that only names it may not", async () => {
    const of = await open();
    const { api_key } = await of.org.key({ role: "agent", bindings: { ...unbound, agent_ids: ["lead"] } });
    await register(of, "lead");
    const named = await submit(api_key, pay("worker", 1, { parent: "lead" }));
    expect(named.error.code).toBe("forbidden");
    await register(of, "worker", { parent_id: "lead" });
    const { intent_id } = await submit(api_key, { ...pay("worker", 1), claim: "required" });
    const body = { nonce: "a-nonce-of-this-process" };
    const claim = () => call(urls[0], "POST", `/v1/intents/${intent_id}/claim`, { key: api_key, body });
    await register(of, "worker");
    expect((await claim()).status).toBe(403);
    expect((await submit(api_key, pay("worker", 1))).error.code).toBe("forbidden");
    await register(of, "worker", { parent_id: "lead" });
    expect((await claim()).status).toBe(200);
  });
});

test("the person an agent acts for is a fact: reported by an agent's key, attested by others", async () => {
  const of = await open();
  const assurance = async (key: string) => {
    const { intent_id } = await submit(key, pay("bot", 1, { on_behalf_of: "Ann" }));
    const { facts } = (await call(urls[0], "GET", `/v1/intents/${intent_id}`, { key: of.reviewer })).json;
    return facts.identity.on_behalf_of;
  };
  expect(await assurance(of.agent)).toMatchObject({ value: "Ann", assurance: "reported" });
  expect(await assurance(of.operator)).toMatchObject({ value: "Ann", assurance: "attested" });
});

test("the intents of one run are listed", async () => {
  const of = await open();
  const { intent_id } = await submit(of.agent, pay("bot", 1, { session_id: "run-1" }));
  await submit(of.agent, pay("bot", 1, { session_id: "run-2" }));
  const { json } = await call(urls[0], "GET", "/v1/intents?session_id=run-1", { key: of.reviewer });
  expect(json.intents.map((each: { intent_id: string }) => each.intent_id)).toEqual([intent_id]);
});
