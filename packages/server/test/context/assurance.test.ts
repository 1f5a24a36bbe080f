/** Source: docs/decisions/0040. */
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { liveMembrane } from "../../src/testing/people/live-membrane.ts";

const database = await testDatabase();
let url: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
});
const live = () => liveMembrane(database.db, url);
const within = { require: "params.amount <= facts.organizational.delegation_limit_usd", effect: "block" };
const limit = (delegation_limit_usd: number) => ({ organizational: { delegation_limit_usd } });
const unknownOf = ({ decision }: { decision: { reasons: { unknown_facts: unknown[] }[] } }) =>
  decision.reasons.flatMap(({ unknown_facts }) => unknown_facts);
const path = "facts.organizational.delegation_limit_usd";

describe("facts_from", () => {
  test("a new membrane counts facts from admins, operators and hosts about identity and limits, but not from agents", async () => {
    const own = await live();
    await own.rule("within", within);
    const agent = await own.submit(await own.key("agent"), limit(1_000));
    expect(agent.decision.verdict).toBe("escalate");
    expect(unknownOf(agent)).toEqual([{ path, reason: "untrusted_source", assurance: "reported" }]);
    expect(agent.decision.reasons[0].message).toContain("a source that does not count here");
    for (const key of [own.admin, await own.key("operator"), await own.key("host", "a1")])
      expect((await own.submit(key, limit(1_000))).decision.verdict).toBe("approve");
    expect((await own.submit(await own.key("agent"), limit(100))).decision.verdict).toBe("block");
  });

  test("membranes and policies say what counts; the stricter wins, and nothing improves a stored value", async () => {
    const own = await live();
    const agent = await own.key("agent");
    await own.membrane({ facts_from: {} });
    await own.rule("within", within);
    expect((await own.submit(agent, limit(1_000))).decision.verdict).toBe("approve");
    await own.membrane({ facts_from: { organizational: "stored" } });
    const attested = await own.submit(own.admin, limit(1_000));
    expect(unknownOf(attested)).toEqual([{ path, reason: "untrusted_source", assurance: "attested" }]);
    await own.membrane({ facts_from: { organizational: "stored", "organizational.delegation_limit_usd": "reported" } });
    expect((await own.submit(agent, limit(1_000))).decision.verdict).toBe("approve");
    await own.rule("stricter", { ...within, facts_from: { "organizational.delegation_limit_usd": "stored" } });
    expect(
      (await own.submit(agent, limit(1_000))).decision.reasons.map((each: { policy: string }) => each.policy),
    ).toEqual(["stricter"]);
    await own.store("agents/a1", limit(100));
    for (const key of [agent, own.admin]) expect((await own.submit(key, limit(1_000))).decision.verdict).toBe("block");
    await own.store("agents/a1", limit(900));
    expect((await own.submit(agent, limit(1))).decision.verdict).toBe("approve");
  });

  test.each([
    [{ identities: "attested" }],
    [{ "identity.": "attested" }],
    [{ identity: "believed" }],
    [{ identity: 1 }],
  ])("400 for a membrane with %j", async (facts_from) => {
    const own = await live();
    expect((await own.membrane({ facts_from })).json.error.code).toBe("invalid_request");
  });
});

describe("assurance of facts", () => {
  test("an intent shows it, and older membranes do not require it", async () => {
    const own = await live();
    await own.store("org", { security: { siem_ref: "s" } });
    const made = await own.submit(await own.key("host", "a1"), { identity: { clearance_status: "c" } });
    const { json } = await own.ask("GET", `/intents/${made.intent_id}`);
    expect(json.facts.security.siem_ref).toMatchObject({ source: "org", assurance: "stored" });
    expect(json.facts.identity.clearance_status).toMatchObject({ source: "inline", assurance: "attested" });
    expect((await own.ask("GET", `/membranes/${own.membrane_id}`)).json.membrane.facts_from).toEqual({
      identity: "attested",
      "organizational.delegation_limit_usd": "attested",
    });
    const [{ column_default }] = (await database.db.query(
      "select column_default from information_schema.columns where table_name = 'membranes' and column_name = 'facts_from'",
    )) as { column_default: string }[] as [{ column_default: string }];
    expect(column_default).toBe("'{}'::json");
  });

  test("another spelling of an agent's id neither reaches nor avoids its stored facts", async () => {
    const own = await live();
    await own.rule("within", { ...within, on_unknown: "skip" });
    await own.rule("known", { require: "has(facts.organizational.delegation_limit_usd)", effect: "escalate" });
    const asks = async (id: string, inline?: number) =>
      (await own.submit(own.admin, inline === undefined ? undefined : limit(inline), { agent: { id } })).decision;
    await own.store("agents/straße-ａ1", limit(100));
    for (const id of ["STRASSE-A1", "Straße-a1", "strasse-ａ1"]) {
      expect((await asks(id, 1_000)).verdict, id).toBe("block");
      expect((await asks(id)).verdict, id).toBe("block");
    }
    await own.store("agents/straße-ａ1", limit(1_000));
    const reached = await asks("Straße-a1", 1_000);
    expect(reached.verdict).toBe("escalate");
    expect(unknownOf({ decision: reached })).toEqual([{ path, reason: "other_spelling" }]);
    expect((await asks("straße-ａ1")).verdict).toBe("approve");
    expect((await asks("b1", 1_000)).verdict).toBe("approve");
    await own.store("agents/STRASSE-A1", limit(600));
    expect((await asks("STRASSE-A1")).verdict).toBe("approve");
  });

  test("the same is true for a target", async () => {
    const own = await live();
    await own.rule("frozen", {
      when: "facts.entity_state.account_status == 'frozen'",
      effect: "block",
      on_unknown: "skip",
    });
    await own.store("targets/account/ACC-1", { entity_state: { account_status: "frozen" } });
    const asks = async (type: string, identifier: string) =>
      (
        await own.submit(
          own.admin,
          { entity_state: { account_status: "open" } },
          { action: { verb: "pay", target: { type, identifier } } },
        )
      ).decision.verdict;
    expect([await asks("account", "ACC-1"), await asks("Account", "acc-1"), await asks("account", "acc-2")]).toEqual([
      ...["block", "block", "approve"],
    ]);
  });
});

describe("a key of role host", () => {
  test("is bound to an agent, submits for it, sees its own intents, and may do nothing else", async () => {
    const own = await live();
    const make = (body: object) => own.ask("POST", "/api-keys", { role: "host", ...body });
    for (const bindings of [undefined, null, { forbid_shadow: true }])
      expect((await make({ bindings })).json.error.details).toMatchObject([
        { path: "/bindings/agent_ids", code: "not_allowed" },
      ]);
    const several = (await make({ bindings: { agent_ids: ["a3", "a4"] } })).json.api_key;
    expect((await own.submit(several, undefined, { agent: { id: "a4" } })).decision.verdict).toBe("approve");
    expect((await own.submit(several)).error.code).toBe("forbidden");
    const host = (await make({ scope: "agent", agent_id: "a1" })).json.api_key;
    const made = await own.submit(host);
    expect(made.decision.verdict).toBe("approve");
    expect((await own.submit(host, undefined, { agent: { id: "a2" } })).error.code).toBe("forbidden");
    expect((await own.ask("GET", `/intents/${made.intent_id}`, undefined, host)).status).toBe(200);
    const others = await own.submit(own.admin, undefined, { agent: { id: "a2" } });
    expect((await own.ask("GET", `/intents/${others.intent_id}`, undefined, host)).status).toBe(404);
    const observed = { status: "executed" };
    expect((await own.ask("POST", `/intents/${made.intent_id}/observations`, observed, host)).status).toBe(201);
    for (const [method, path] of [
      ...[
        ["GET", "/api-keys"],
        ["POST", "/api-keys"],
        ["GET", "/membranes"],
        ["GET", "/escalations"],
        ["GET", "/policies"],
      ],
      ...[
        ["PUT", "/context/org"],
        ["GET", "/context/org"],
        ["GET", "/overrides"],
        ["POST", `/intents/${made.intent_id}/override`],
      ],
    ] as [string, string][])
      expect(
        (await call(url, method, `/v1${path}`, { key: host, ...(method === "GET" ? {} : { body: {} }) })).status,
        path,
      ).toBe(403);
  });

  test("does not vouch for a review by a person", async () => {
    const own = await live();
    await own.rule("reviewed", { require: "params.human_reviewed == true", effect: "escalate" });
    const claim = { payload: { content: { human_reviewed: true } } };
    expect((await own.submit(own.admin, undefined, claim)).decision.verdict).toBe("approve");
    expect((await own.submit(await own.key("host", "a1"), undefined, claim)).decision.verdict).toBe("escalate");
  });
});
