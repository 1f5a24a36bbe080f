/** Source: decision 0015. */
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { publicHttpsOnly } from "@countersign/core";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import {
  facts,
  intent,
  json,
  missing,
  outcome as outcomeOn,
  pulling as pullingOn,
  sourceNode,
} from "../../src/testing/network/context-source.ts";
import { type AnswerWith, testReceiver } from "../../src/testing/network/receiver.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import type { Reviewed } from "../../src/testing/people/review.ts";

const urls: { url: string; expect: "accept" | "refuse" }[] = JSON.parse(
  readFileSync(new URL("../../../../test/data/webhook-urls.json", import.meta.url), "utf8"),
);
const database = await testDatabase();
let url: string;
let second: string;
beforeAll(async () => {
  ({ url } = await sourceNode(database));
  ({ url: second } = await sourceNode(database));
});
const pulling = (base = url) => pullingOn(database, base);
const outcome = (org: Reviewed, made: Parameters<typeof outcomeOn>[1], at = url) => outcomeOn(org, made, at);

describe("PUT, GET and DELETE /v1/context/source", () => {
  test("the secret is shown by the PUT that made it and never again, and is sealed at rest", async () => {
    const org = await pulling();
    expect((await org.source("GET")).json.error.code).toBe("not_found");
    expect((await org.source("DELETE")).json.error.code).toBe("not_found");
    const made = await org.register("https://Facts.example.com:443/a/../b");
    expect(made).toMatchObject({ url: "https://facts.example.com/b", timeout_ms: 1000 });
    expect(Buffer.from(made.secret.replace(/^whsec_/, ""), "base64")).toHaveLength(32);
    expect((await org.source("GET")).json.source).toEqual({ ...made, secret: "***" });
    const rows = await database.db.query<{ text: string }>("select t::text as text from context_sources t");
    for (const { text } of rows) expect(text).not.toContain(made.secret.slice(6));
    const again = await org.register("https://facts.example.com/b", 250);
    expect(again).toMatchObject({ timeout_ms: 250 });
    expect(again.secret).not.toBe(made.secret);
    expect((await org.source("DELETE")).status).toBe(204);
    expect((await org.source("GET")).status).toBe(404);
    const audit = await database.db.query<{ type: string; data: object }>(
      "select type, data from audit where org_id = $1 and type like 'context_source%' order by seq",
      [org.org.org_id],
    );
    expect(audit).toEqual([
      { type: "context_source_registered", data: { url: "https://facts.example.com/b", timeout_ms: 1000 } },
      { type: "context_source_registered", data: { url: "https://facts.example.com/b", timeout_ms: 250 } },
      { type: "context_source_deleted", data: { url: "https://facts.example.com/b" } },
    ]);
  });

  test("is for admins; auditors may read; other organizations do not see it", async () => {
    const org = await pulling();
    await org.register("https://facts.example.com/");
    const auditor = (await org.org.key({ role: "auditor" })).api_key;
    expect((await org.source("GET", undefined, auditor)).json.source.secret).toBe("***");
    for (const key of [org.operator, org.agent, org.reviewer])
      for (const method of ["PUT", "GET", "DELETE"])
        expect((await org.source(method, method === "PUT" ? {} : undefined, key)).status).toBe(403);
    const other = await pulling();
    expect((await other.source("GET")).status).toBe(404);
    expect((await other.source("DELETE")).status).toBe(404);
    expect((await org.source("GET")).status).toBe(200);
  });

  test.each<[string, object, string, string | undefined]>([
    ["no url", {}, "invalid_request", undefined],
    ["a time limit of 0", { url: "https://a.example.com/", timeout_ms: 0 }, "invalid_request", "/timeout_ms"],
    [
      "a time limit above a second",
      { url: "https://a.example.com/", timeout_ms: 1001 },
      "invalid_request",
      "/timeout_ms",
    ],
    ["a time limit as text", { url: "https://a.example.com/", timeout_ms: "5" }, "invalid_request", "/timeout_ms"],
    ["a field of its own", { url: "https://a.example.com/", timeout: 5 }, "invalid_request", "/timeout"],
    ["plain http", { url: "http://a.example.com/" }, "webhook_url_refused", "/url"],
    ["a private address", { url: "https://10.0.0.1/" }, "webhook_url_refused", "/url"],
    ["a password", { url: "https://a:b@a.example.com/" }, "webhook_url_refused", "/url"],
    ["another protocol's port", { url: "https://a.example.com:25/" }, "webhook_url_refused", "/url"],
  ])("refuses %s", async (_title, body, code, path) => {
    const org = await pulling();
    const { status, json } = await org.source("PUT", body);
    expect([status, json.error.code]).toEqual([400, code]);
    if (path !== undefined) expect(json.error.details[0].path).toBe(path);
    expect((await org.source("GET")).status).toBe(404);
  });

  test("accepts and refuses the same URLs as webhooks", async () => {
    const node = await sourceNode(database, { rules: publicHttpsOnly, resolve: async () => ["93.184.215.14"] });
    const org = await pulling(node.url);
    expect(urls.length).toBeGreaterThan(100);
    for (const { url: given, expect: expected } of urls) {
      const { status, json } = await org.source("PUT", { url: given });
      const outcome = status === 200 ? "accept" : ["webhook_url_refused", "invalid_request"].includes(json.error.code);
      expect([given, outcome]).toEqual([given, expected === "accept" ? "accept" : true]);
    }
  });

  test("accepts a time limit of exactly 1 s and of 1 ms", async () => {
    const org = await pulling();
    for (const timeout_ms of [1000, 1])
      expect(await org.register("https://facts.example.com/", timeout_ms)).toMatchObject({ timeout_ms });
  });
});

describe("a pull", () => {
  test("posts the intent, signed like a webhook, and the decision uses the answer", async () => {
    const org = await pulling();
    const receiver = await testReceiver(json(facts({ prompt_injection_detected: true })));
    const { secret } = await org.register(receiver);
    const made = await org.submit();
    expect([made.status, made.json.decision.verdict]).toEqual([201, "block"]);
    const [asked] = receiver.received;
    expect(JSON.parse(asked?.body ?? "")).toEqual({ contract_version: "1", intent });
    const signature = createHmac("sha256", secret)
      .update(asked?.body ?? "")
      .digest("hex");
    expect(asked?.headers).toMatchObject({
      "content-type": "application/json",
      "x-service-signature": `sha256=${signature}`,
      "x-service-delivery": asked?.headers["webhook-id"],
    });
    new StandardWebhook(secret).verify(asked?.body ?? "", asked?.headers as Record<string, string>);
    const { security, recorded } = await outcome(org, made);
    expect(security.prompt_injection_detected).toMatchObject({ value: true, source: "pulled" });
    expect(recorded).toBeUndefined();
  });

  test("overrides target, agent, organization and inline facts one by one, and hides no others", async () => {
    const org = await pulling();
    const put = (path: string, security: object) =>
      call(url, "PUT", `/v1/context/${path}`, { key: org.admin, body: JSON.parse(facts(security)) });
    await put("targets/person/ann", { siem_ref: "target", a: "target" });
    await put("agents/agent-1", { siem_ref: "agent", b: "agent" });
    await put("org", { siem_ref: "org", c: "org" });
    const receiver = await testReceiver(json(facts({ siem_ref: "pulled", a: null })));
    await org.register(receiver);
    const made = await org.submit({ context: JSON.parse(facts({ siem_ref: "inline", d: "inline" })) });
    const { security } = await outcome(org, made);
    const origin = Object.entries(security).map(([name, fact]) => {
      const { value, source } = fact as { value: string; source: string };
      return [name, value, source];
    });
    expect(origin.sort()).toEqual([
      ["a", "target", "target"],
      ["b", "agent", "agent"],
      ["c", "org", "org"],
      ["d", "inline", "inline"],
      ["siem_ref", "pulled", "pulled"],
    ]);
  });

  test.each(["shadow", "test"] as const)("is made in %s mode too", async (mode) => {
    const org = await pulling();
    const receiver = await testReceiver(json(facts({ prompt_injection_detected: true })));
    await org.register(receiver);
    const { api_key } = await org.org.key({ role: "agent", environment: mode });
    const made = await call(url, "POST", "/v1/intents", { key: api_key, body: { intent } });
    expect(made.json.decision).toMatchObject({ verdict: "block", pipeline_mode: mode });
    expect(receiver.received).toHaveLength(1);
  });

  test("204 means no facts, and is not a failure", async () => {
    const org = await pulling();
    await org.register(await testReceiver((response) => response.writeHead(204).end()));
    const made = await org.submit();
    expect(await outcome(org, made)).toMatchObject({ unknown: [{ path: missing, reason: "missing" }] });
    expect((await outcome(org, made)).recorded).toBeUndefined();
  });

  test("is not made for requests that are refused anyway", async () => {
    const org = await pulling();
    const receiver = await testReceiver(json(facts({})));
    await org.register(receiver);
    const bad = [
      await org.submit({ context: { contract_version: "1", facts: { nonsense: {} } } }),
      await org.submit({ membrane_id: "mem_00000000000000000000000000" }),
      await org.submit({ intent: { agent: {} } }),
    ];
    expect(bad.map((each) => each.status)).toEqual([400, 404, 400]);
    expect(receiver.received).toEqual([]);
  });
});

describe("an answer is cached", () => {
  const counted = (text: () => string, headers: Record<string, string> = {}) => {
    const answer: AnswerWith = (response, ...rest) => json(text(), headers)(response, ...rest);
    return testReceiver(answer);
  };

  test("for the same intent while its facts are fresh, with their original time", async () => {
    const org = await pulling();
    const as_of = new Date(Date.now() - 60_000).toISOString();
    const receiver = await counted(() => facts({ prompt_injection_detected: false }, { as_of: { security: as_of } }));
    await org.register(receiver);
    const first = await org.submit();
    const again = await org.submit({ context: JSON.parse(facts({ x: 1 })) });
    expect(receiver.received).toHaveLength(1);
    for (const made of [first, again]) {
      const { security } = await outcome(org, made);
      expect(security.prompt_injection_detected).toMatchObject({ source: "pulled", as_of: as_of.replace("Z", "000Z") });
    }
  });

  test.each([
    ["another payload", { ...intent, payload: { content: { text: "bye" } } }],
    ["another agent", { ...intent, agent: { id: "agent-2" } }],
    ["another session", { ...intent, agent: { id: "agent-1", session_id: "s" } }],
  ])("never for %s", async (_title, other) => {
    const org = await pulling();
    const receiver = await counted(() => facts({ siem_ref: `answer ${receiver.received.length}` }));
    await org.register(receiver);
    await org.submit();
    const made = await org.submit({ intent: other });
    expect(receiver.received).toHaveLength(2);
    expect((await outcome(org, made)).security.siem_ref.value).toBe("answer 2");
  });

  test("never when its facts are too old for the membrane, nor when the source forbids it", async () => {
    const org = await pulling();
    const old = { as_of: { security: new Date(Date.now() - 3_600_000).toISOString() } };
    const stale = await counted(() => facts({ siem_ref: "x" }, old));
    await org.register(stale);
    await org.submit();
    await org.submit();
    expect(stale.received).toHaveLength(2);
    const unkept = await counted(() => facts({ siem_ref: "x" }), { "cache-control": "private, no-store" });
    await org.register(unkept);
    await org.submit();
    await org.submit();
    expect(unkept.received).toHaveLength(2);
    const kept = await counted(() => facts({ siem_ref: "x" }));
    await org.register(kept);
    const change = { facts_max_age: { security: 1 } };
    const path = `/v1/membranes/${org.membrane_id}`;
    expect((await call(url, "PATCH", path, { key: org.admin, body: change })).status).toBe(200);
    await org.submit();
    const askedAgain = async () => (await org.submit()).status === 201 && kept.received.length;
    await expect.poll(askedAgain, { interval: 200 }).toBe(2);
  });

  test("never for another organization", async () => {
    const receiver = await counted(() => facts({ siem_ref: "x" }));
    for (const org of [await pulling(), await pulling()]) {
      await org.register(receiver);
      await org.submit();
    }
    expect(receiver.received).toHaveLength(2);
  });

  test("and concurrent equal questions are asked once", async () => {
    const org = await pulling();
    const held: ServerResponse[] = [];
    const receiver = await testReceiver((response) => void held.push(response));
    await org.register(receiver);
    const made = Promise.all([org.submit(), org.submit(), org.submit()]);
    await expect.poll(() => held.length).toBe(1);
    held[0]?.end(facts({ siem_ref: "x" }));
    for (const each of await made) expect(each.status).toBe(201);
    expect(receiver.received).toHaveLength(1);
    expect((await outcome(org, (await made)[2])).security.siem_ref.source).toBe("pulled");
  });
});

describe("changing the source", () => {
  test("governs the next decision on every node", async () => {
    const org = await pulling();
    const one = await testReceiver(json(facts({ siem_ref: "one" })));
    const two = await testReceiver(json(facts({ siem_ref: "two" })));
    const seen = async (at: string) => (await outcome(org, await org.submit({}, at), at)).security?.siem_ref?.value;
    for (const [to, at, expected] of [
      [one, second, "one"],
      [two, second, "two"],
      [one, url, "one"],
    ] as const) {
      await org.register(to);
      expect(await seen(at)).toBe(expected);
      expect(await seen(at === url ? second : url)).toBe(expected);
    }
    const asked = one.received.length + two.received.length;
    expect((await org.source("DELETE")).status).toBe(204);
    expect([await seen(url), await seen(second)]).toEqual([undefined, undefined]);
    expect(one.received.length + two.received.length).toBe(asked);
  });

  test("ends requests to the old source, on every node", async () => {
    const org = await pulling();
    const one = await testReceiver(json(facts({ siem_ref: "one" })));
    const two = await testReceiver(json(facts({ siem_ref: "two" })));
    let made = 0;
    // Makes each action different, because answers may be cached.
    const submit = async (at: string) => {
      const another = { ...intent, payload: { content: { made: made++ } } };
      expect((await org.submit({ intent: another }, at)).status).toBe(201);
    };
    const decide = async () => {
      for (const at of [url, second, url]) await submit(at);
      return [one.received.length, two.received.length];
    };
    await org.register(one);
    expect(await decide()).toEqual([3, 0]);
    await org.register(two);
    expect(await decide()).toEqual([3, 3]);
    expect((await org.source("DELETE")).status).toBe(204);
    expect(await decide()).toEqual([3, 3]);
  });

  test("during a pull repeats the decision with the new source's facts, on the other node", async () => {
    const org = await pulling();
    const held: ServerResponse[] = [];
    const old = await testReceiver((response) => void held.push(response));
    const fresh = await testReceiver(json(facts({ siem_ref: "new" })));
    await org.register(old);
    const deciding = org.submit({}, second);
    await expect.poll(() => held.length).toBe(1);
    await org.register(fresh);
    held[0]?.end(facts({ siem_ref: "old" }));
    const made = await deciding;
    expect((await outcome(org, made)).security.siem_ref.value).toBe("new");
  });
});
