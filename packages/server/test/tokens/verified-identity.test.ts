/** Source: docs/decisions/0044. */
import type { JWTPayload } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { liveMembrane } from "../../src/testing/people/live-membrane.ts";
import { sideBySide } from "../../src/testing/side-by-side.ts";
import { tokenKey } from "../../src/testing/tokens.ts";

const database = await testDatabase();
let url: string;
let other_url: string;
let key: Awaited<ReturnType<typeof tokenKey>>;
beforeAll(async () => {
  [{ url }, { url: other_url }] = await Promise.all([serviceNode(database), serviceNode(database)]);
  key = await tokenKey("k1");
});

const iss = "https://idp.example";
let tokens = 0;
const token = (change: JWTPayload = {}) =>
  key.sign({ iss, sub: "a1", aud: "countersign", exp: Date.now() / 1_000 + 600, jti: `t${++tokens}`, ...change });
const intent = { agent: { id: "a1" }, action: { verb: "pay" }, payload: { content: { amount: 500 } } };
const same = { require: "facts.identity.authenticated_agent_id == agent.id", effect: "block" };
const verified = { facts_from: { "identity.authenticated_agent_id": "verified" } };

/** An organization that trusts the key and counts only verified facts. Its rule `same` compares the agents. */
async function trusting() {
  const own = await liveMembrane(database.db, url);
  const agent = await own.key("agent");
  const issuer = { issuer: iss, jwks: { keys: [key.jwk] }, audience: ["countersign"] };
  const { issuer_id } = (await own.ask("POST", "/token-issuers", issuer)).json.token_issuer;
  await own.membrane(verified);
  await own.rule("same", same);
  const submit = (
    agent_token: string | undefined,
    { at = url, headers = {}, ...more }: { at?: string; headers?: object; context?: object } = {},
  ) =>
    call(at, "POST", "/v1/intents", {
      key: agent,
      body: { intent, ...more },
      headers: { ...(agent_token === undefined ? {} : { "Agent-Token": agent_token }), ...headers },
    });
  return { ...own, agent, issuer_id, send: submit };
}
const said = (answer: { status: number; json: { error?: { code: string; details: { code: string }[] } } }) => [
  answer.status,
  answer.json.error?.code,
  answer.json.error?.details[0]?.code,
];
const context = {
  contract_version: "1",
  facts: { identity: { authenticated_agent_id: "a1", delegation_chain: ["x"] } },
};

describe("a valid token", () => {
  test("gives verified facts that no other source replaces, and its text is stored nowhere", async () => {
    const own = await trusting();
    await own.store("agents/a1", { identity: { authenticated_agent_id: "stored", account_status: "active" } });
    const given = await token({ sub: "ann", act: { sub: "a1" } });
    const lie = {
      contract_version: "1",
      facts: { identity: { authenticated_agent_id: "lie", delegation_chain: ["lie"] } },
    };
    const answer = await own.send(given, { context: lie });
    expect([answer.status, answer.json.decision.verdict]).toEqual([201, "approve"]);
    const { facts, ancestors } = (await own.ask("GET", `/intents/${answer.json.intent_id}`)).json;
    expect(ancestors).toEqual([{ agent_id: "ann", source: "token" }]);
    const from_token = { source: "token", assurance: "verified" };
    expect(facts.identity).toMatchObject({
      authenticated_agent_id: { value: "a1", ...from_token },
      delegation_chain: { value: ["ann", "a1"], ...from_token },
      token_issuer: { value: iss, ...from_token },
      account_status: { value: "active", source: "agent", assurance: "stored" },
    });
    const rows = await database.db.query<{ whole: string }>("select l::text as whole from ledger l where org_id = $1", [
      own.org.org_id,
    ]);
    const signature = given.split(".")[2] as string;
    expect(rows.filter(({ whole }) => whole.includes(signature))).toEqual([]);
  });

  test("gives the facts that the issuer's claims name; without a valid token they are unknown", async () => {
    const own = await trusting();
    const issuer = { issuer: iss, jwks: { keys: [key.jwk] }, audience: ["countersign"] };
    const mapped = { ...issuer, claims: { account_status: "status", delegation_chain: "chain" } };
    const put = (body: object) => own.ask("PUT", `/token-issuers/${own.issuer_id}`, body);
    expect((await put(mapped)).json.error.details[0]).toMatchObject({ path: "/claims/delegation_chain" });
    expect((await put({ ...issuer, claims: { account_status: "status" } })).status).toBe(200);
    await own.rule("active", { require: "facts.identity.account_status == 'active'", effect: "block" });
    await own.store("agents/a1", { identity: { account_status: "active" } });
    expect((await own.send(await token({ status: "active" }))).json.decision.verdict).toBe("approve");
    expect((await own.send(await token({ status: "suspended" }))).json.decision.verdict).toBe("block");
    await own.membrane({ agent_token: { on_invalid: "unknown" }, facts_from: {} });
    const { decision } = (await own.send("no token", { context })).json;
    expect(decision.reasons.find(({ policy }: { policy: string }) => policy === "active").unknown_facts).toEqual([
      { path: "facts.identity.account_status", reason: "untrusted_token" },
    ]);
  });

  test("of another agent is only a fact, and the rule decides", async () => {
    const own = await trusting();
    const answer = await own.send(await token({ sub: "a2" }));
    expect([answer.status, answer.json.decision.verdict]).toEqual([201, "block"]);
  });

  test("counts for each item of a batch", async () => {
    const own = await trusting();
    const intents = [{ intent }, { intent: { ...intent, agent: { id: "a2" } } }, { intent: "no intent" }];
    const headers = { "Agent-Token": await token() };
    const answer = await call(url, "POST", "/v1/intents/batch", { key: own.agent, body: { intents }, headers });
    expect(answer.json.results.map((each: { decision?: { verdict: string } }) => each.decision?.verdict)).toEqual([
      ...["approve", "block", undefined],
    ]);
  });

  test("proves nothing to an organization that does not trust its issuer, nor after the issuer was removed, on any node", async () => {
    const own = await trusting();
    const stranger = await liveMembrane(database.db, url);
    const foreign = await call(url, "POST", "/v1/intents", {
      key: stranger.admin,
      body: { intent },
      headers: { "Agent-Token": await token() },
    });
    expect(said(foreign)).toEqual([400, "invalid_agent_token", "issuer_unknown"]);
    for (const at of [url, other_url]) expect((await own.send(await token(), { at })).status).toBe(201);
    await own.ask("DELETE", `/token-issuers/${own.issuer_id}`);
    for (const at of [url, other_url])
      expect(said(await own.send(await token(), { at }))).toEqual([400, "invalid_agent_token", "issuer_unknown"]);
    // A node without cached issuers finds the one that another node added.
    const again = { issuer: iss, jwks: { keys: [key.jwk] }, audience: ["countersign"] };
    await own.ask("POST", "/token-issuers", again);
    for (const at of [url, other_url]) expect((await own.send(await token(), { at })).status).toBe(201);
  });
});

describe("an invalid token", () => {
  test("is refused, and nothing is stored", async () => {
    const own = await trusting();
    expect(said(await own.send(await token({ exp: 1 })))).toEqual([400, "invalid_agent_token", "expired"]);
    expect(said(await own.send("x".repeat(9_000)))).toEqual([400, "invalid_agent_token", "malformed"]);
    expect((await own.ask("GET", "/intents")).json.intents).toEqual([]);
  });

  test("on_invalid unknown: its facts are unknown whatever other sources say, also in a repeated decision", async () => {
    const own = await trusting();
    await own.membrane({ agent_token: { on_invalid: "unknown" }, facts_from: {} });
    await own.store("agents/a1", { identity: { authenticated_agent_id: "a1" } });
    expect((await own.send(undefined)).json.decision.verdict).toBe("approve");
    const held = await own.send(await token({ exp: 1 }), { context });
    expect([held.status, held.json.decision.verdict]).toEqual([201, "escalate"]);
    expect(held.json.decision.reasons[0].unknown_facts).toEqual([
      { path: "facts.identity.authenticated_agent_id", reason: "untrusted_token" },
    ]);
    const hour_ms = 3_600_000;
    const [from, to] = [Date.now() - hour_ms, Date.now() + hour_ms].map((ms) => new Date(ms).toISOString());
    const { json } = await own.ask("POST", "/learning/backtest", { window: { from, to } });
    expect(json.backtest).toMatchObject({ evaluated: 2, reproduced: 1, flips_total: 0 });
  });

  test("required: a request without a token counts as one with an invalid token", async () => {
    const own = await trusting();
    await own.membrane({ agent_token: { required: true } });
    expect(said(await own.send(undefined, { context }))).toEqual([400, "invalid_agent_token", "missing"]);
    await own.membrane({ agent_token: { on_invalid: "unknown" } });
    expect((await own.send(undefined, { context })).json.decision.reasons[0].unknown_facts[0].reason).toBe(
      "untrusted_token",
    );
  });

  test("keys that cannot be fetched are 503, or unknown", async () => {
    const own = await trusting();
    const unreachable = { issuer: iss, jwks_url: "https://keys.invalid/jwks", audience: ["countersign"] };
    await own.ask("PUT", `/token-issuers/${own.issuer_id}`, unreachable);
    const answer = await own.send(await token());
    expect(said(answer)).toEqual([503, "unavailable", "keys_unreachable"]);
    expect(answer.headers.get("retry-after")).toBe("1");
    await own.membrane({ agent_token: { on_invalid: "unknown" } });
    expect((await own.send(await token())).json.decision.verdict).toBe("escalate");
  });
});

describe("once", () => {
  const once = async () => {
    const own = await trusting();
    await own.membrane({ agent_token: { once: true } });
    return own;
  };

  test("of 50 requests with one token on two nodes exactly one succeeds", async () => {
    const own = await once();
    const given = await token();
    const answers = await sideBySide(Array.from({ length: 50 }).keys(), (n) =>
      own.send(given, { at: n % 2 === 0 ? url : other_url }),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(new Set(refused.map((each) => String(said(each))))).toEqual(new Set(["400,invalid_agent_token,replayed"]));
  });

  test("a repetition under one Idempotency-Key gets the first answer, also after the token expired", async () => {
    const own = await once();
    const given = await token();
    const headers = { "Idempotency-Key": "k1" };
    const first = await own.send(given, { headers });
    const again = await own.send(given, { headers, at: other_url });
    const late = await own.send(await token({ exp: 1 }), { headers });
    expect([first.status, again.status, late.status]).toEqual([201, 200, 200]);
    for (const each of [again, late]) expect(each.json.intent_id).toBe(first.json.intent_id);
    expect(said(await own.send(given, { headers: { "Idempotency-Key": "k2" } }))[2]).toBe("replayed");
  });

  test("a batch uses its token once, and its repetition gets the first answers", async () => {
    const own = await once();
    const headers = { "Agent-Token": await token() };
    const send = (intents: object[]) =>
      call(url, "POST", "/v1/intents/batch", { key: own.agent, body: { intents }, headers });
    const intents = ["b1", "b2"].map((idempotency_key) => ({ intent, idempotency_key }));
    expect((await send(intents)).json.succeeded).toBe(2);
    const again = (await send(intents)).json.results;
    expect(again.map((each: { replayed?: boolean }) => each.replayed)).toEqual([true, true]);
    const other = (await send([{ intent }])).json.results[0].error;
    expect([other.code, other.details[0]]).toMatchObject([
      "invalid_agent_token",
      { code: "replayed", path: "/intents/0/Agent-Token" },
    ]);
  });

  test("a token without jti is refused, and another organization may use the same token", async () => {
    const [own, other] = [await once(), await once()];
    expect(said(await own.send(await token({ jti: undefined as unknown as string })))[2]).toBe("replayed");
    const given = await token();
    for (const each of [own, other]) expect((await each.send(given)).status).toBe(201);
  });
});
