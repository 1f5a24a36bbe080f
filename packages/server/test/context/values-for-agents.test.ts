/** Source: docs/decisions/0040. */
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { liveMembrane } from "../../src/testing/people/live-membrane.ts";

const database = await testDatabase();
let url: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
});

const [secret, secret_word] = [4_217.5, "quarantined-lot"];

async function organization() {
  const own = await liveMembrane(database.db, url);
  await own.membrane({ facts_from: {} });
  await own.rule("within", {
    require: "params.amount <= facts.organizational.delegation_limit_usd",
    effect: "escalate",
    message:
      "{{params.amount}} of {{facts.organizational.delegation_limit_usd}} for {{facts.entity_state.account_status}}",
  });
  await own.rule("dated", { when: "timestamp(facts.entity_state.account_status) > now", effect: "block" });
  await own.store("agents/a1", {
    organizational: { delegation_limit_usd: secret },
    entity_state: { account_status: secret_word },
  });
  return own;
}
const large = { payload: { content: { amount: 9_000 } } };
const tells = (answer: unknown) =>
  [String(secret), secret_word].some((value) => JSON.stringify(answer).includes(value));

test("stored values are in no answer about an agent's action, and people get them", async () => {
  const own = await organization();
  for (const key of [await own.key("agent"), await own.key("agent", "a1"), await own.key("host", "a1")]) {
    const made = await own.submit(key, undefined, large);
    const path = `/intents/${made.intent_id}`;
    expect(made.decision.reasons).toContainEqual(
      expect.objectContaining({ policy: "within", message: "9000 of [not shown] for [not shown]" }),
    );
    expect(made.decision.would_approve_if).toBeNull();
    const answers = [
      made,
      await own.ask("GET", `${path}/decision`, undefined, key),
      await own.ask("GET", path, undefined, key),
    ];
    answers.push(
      await own.ask("GET", "/intents", undefined, key),
      await own.ask("GET", `${path}/audit`, undefined, key),
    );
    for (const answer of answers) expect(tells(answer.json ?? answer)).toBe(false);
    const { facts } = answers[2].json;
    expect(facts.organizational.delegation_limit_usd).toEqual({
      ...{ source: "agent", assurance: "stored", as_of: expect.stringMatching(/Z$/) },
    });

    for (const reader of [own.admin, await own.key("reviewer"), await own.key("auditor")]) {
      const read = (await own.ask("GET", path, undefined, reader)).json;
      expect(read.facts.entity_state.account_status.value).toBe(secret_word);
      const { decision } = (await own.ask("GET", `${path}/decision`, undefined, reader)).json;
      for (const { reasons } of [decision, read.decision])
        expect(reasons).toContainEqual(expect.objectContaining({ message: `9000 of ${secret} for ${secret_word}` }));
    }
    const review = await own.ask("GET", `/escalations/${made.decision.escalation_id}`);
    expect([review.status, tells(review.json)]).toEqual([200, true]);
  }
});

test("stored values are not in answers about others' actions, a refused claim, a withdrawal or a replayed answer", async () => {
  const own = await organization();
  const agent = await own.key("agent", "a1");
  const by_admin = await own.submit(own.admin, undefined, large);
  expect(tells(by_admin.decision.reasons)).toBe(true);
  const read = await own.ask("GET", `/intents/${by_admin.intent_id}`, undefined, agent);
  expect([read.status, tells(read.json), read.json.decision.would_approve_if]).toEqual([200, false, null]);
  expect(tells((await own.ask("GET", `/intents/${by_admin.intent_id}/decision`, undefined, agent)).json)).toBe(false);

  const small = await own.submit(agent, undefined, {
    payload: { content: { amount: 4_000 } },
    action: { verb: "send" },
  });
  const nonce = "n".repeat(32);
  await own.store("agents/a1", {
    organizational: { delegation_limit_usd: secret / 10 },
    entity_state: { account_status: secret_word },
  });
  const claim = await own.ask("POST", `/intents/${small.intent_id}/claim`, { nonce }, agent);
  expect([claim.status, tells(claim.json)]).toEqual([409, false]);

  const headers = { "Idempotency-Key": "k1" };
  const body = { intent: { agent: { id: "a1" }, action: { verb: "pay" }, ...large } };
  const first = await call(url, "POST", "/v1/intents", { key: agent, headers, body });
  const again = await call(url, "POST", "/v1/intents", { key: agent, headers, body });
  expect([again.json.intent_id, tells(first.json), tells(again.json)]).toEqual([first.json.intent_id, false, false]);
  const { escalation_id } = first.json.decision;
  const withdrawn = await own.ask("POST", `/escalations/${escalation_id}/withdraw`, { reason: "no" }, agent);
  expect([withdrawn.status, tells(withdrawn.json)]).toEqual([200, false]);
});

test("an agent gets other values that it could send, and never a stored value", async () => {
  const own = await organization();
  await own.rule("cap", { when: "params.amount > 8000", effect: "block" });
  await own.rule("stored-cap", {
    match: { verbs: ["send"] },
    when: "params.amount > facts.organizational.delegation_limit_usd",
    effect: "block",
  });
  await own.ask("PUT", "/context/agents/a1", {
    contract_version: "1",
    facts: { organizational: { delegation_limit_usd: 8_500.5 } },
  });
  const agent = await own.key("agent");
  const told = (await own.submit(agent, { entity_state: { account_status: "2026-01-01T00:00:00Z" } }, large)).decision;
  expect(told.would_approve_if).toEqual([{ path: "params.amount", op: "at_most", value: 8_000 }]);
  const whole = (
    await own.submit(
      own.admin,
      { entity_state: { account_status: "2026-01-01T00:00:00Z" } },
      { ...large, action: { verb: "send" } },
    )
  ).decision;
  expect(whole.would_approve_if).not.toBeNull();
});

test("a backtest by an agent reads stored facts as unknown, even if they would forbid", async () => {
  const own = await organization();
  const agent = await own.key("agent");
  await own.submit(agent, undefined, { payload: { content: { amount: 1 } } });
  const window = { from: "2020-01-01T00:00:00Z", to: "2100-01-01T00:00:00Z" };
  const metadata = { name: "probe", title: "Probe" };
  const probe = (over: number) => ({
    ...{ apiVersion: "countersign/v1", kind: "Policy", metadata },
    spec: { when: `facts.organizational.delegation_limit_usd > ${over}.0`, effect: "block", on_unknown: "skip" },
  });
  const flips = async (over: number, key: string) =>
    (
      await own.ask(
        "POST",
        "/learning/backtest",
        { window, candidate: { policies: [probe(over)], without: ["within", "dated"] } },
        key,
      )
    ).json.backtest.transitions;
  expect(await flips(4_000, agent)).toEqual([expect.objectContaining({ to: "approve", count: 1 })]);
});
