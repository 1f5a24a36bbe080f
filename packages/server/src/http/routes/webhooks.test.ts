import { execFileSync } from "node:child_process";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { type Received, testReceiver } from "../../testing/network/receiver.ts";
import { webhookNode, webhookOrganization } from "../../testing/nodes/webhook-node.ts";

const database = await testDatabase();
let url: string;
let org: Awaited<ReturnType<typeof webhookOrganization>>;
beforeAll(async () => {
  ({ url } = await webhookNode(database));
  org = await webhookOrganization(database, url);
});
const newOrg = () => webhookOrganization(database, url);
const hook = "https://hooks.example.com/x";
const id = (received: Received | undefined) => received?.headers["x-service-delivery"];
const until = (count: number, list: readonly unknown[]) => expect.poll(() => list.length, { interval: 20 }).toBe(count);

describe("registration", () => {
  test("201 shows every field and the whole secret; after that the secret is ***", async () => {
    const { status, json } = await org.api("POST", "", {
      url: "HTTPS://Hooks.example.com:443/a/../b",
      description: "note",
    });
    expect(status).toBe(201);
    const { webhook } = json;
    expect(webhook).toMatchObject({
      url: "https://hooks.example.com/b",
      organization_id: org.org_id,
      active: true,
      description: "note",
    });
    expect(webhook).toMatchObject({ escalation_id: null });
    expect(webhook.event_types).toHaveLength(15);
    expect(webhook.id).toMatch(/^wh_[0-9A-Z]{26}$/);
    expect(Buffer.from(webhook.secret.replace(/^whsec_/, ""), "base64")).toHaveLength(32);
    const read = await org.api("GET", `/${webhook.id}`);
    expect(read.json.webhook).toEqual({ ...webhook, secret: "***" });
    const listed = await org.api("GET", "");
    expect(listed.json.webhooks).toContainEqual({ ...webhook, secret: "***" });
  });

  test("the database does not contain the secret as text", async () => {
    const { secret } = await org.register(hook);
    const tables = await database.db.query<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = 'public'",
    );
    for (const { name } of tables) {
      const rows = await database.db.query(`select 1 as hit from ${name} t where t::text like $1`, [
        `%${secret.slice(6)}%`,
      ]);
      expect([name, rows]).toEqual([name, []]);
    }
  });

  test.each<[string, object, number, string]>([
    [
      "an unknown event type",
      { url: hook, event_types: ["decision.approved", "constructor"] },
      400,
      "unknown_event_type",
    ],
    ["event types in other capitals", { url: hook, event_types: ["Decision.Approved"] }, 400, "unknown_event_type"],
    ["no event types", { url: hook, event_types: [] }, 400, "invalid_request"],
    ["event types that are no list", { url: hook, event_types: "decision.approved" }, 400, "invalid_request"],
    ["an address of a private network", { url: "https://10.0.0.1/" }, 400, "webhook_url_refused"],
    ["plain http", { url: "http://hooks.example.com/" }, 400, "webhook_url_refused"],
    ["no text as a URL", { url: "" }, 400, "webhook_url_refused"],
    ["an endless URL", { url: `${hook}/${"a".repeat(20_000)}` }, 400, "webhook_url_refused"],
    [
      "an escalation that does not exist",
      { url: hook, escalation_id: "esc_00000000000000000000000000" },
      404,
      "not_found",
    ],
    ["an escalation that cannot exist", { url: hook, escalation_id: "esc_nope" }, 404, "not_found"],
    ["an empty escalation", { url: hook, escalation_id: "" }, 400, "invalid_request"],
    ["an escalation in a list", { url: hook, escalation_id: [] }, 400, "invalid_request"],
    ["a field that does not exist", { url: hook, secret: "mine" }, 400, "invalid_request"],
  ])("%s is refused", async (_title, body, status, code) => {
    const answer = await org.api("POST", "", body);
    expect([answer.status, answer.json.error.code]).toEqual([status, code]);
    if (code === "webhook_url_refused") expect(answer.json.error.details[0]).toMatchObject({ path: "/url" });
  });

  test("unknown event types and a refused address are reported together, at registration and change", async () => {
    const { id } = (await org.api("POST", "", { url: hook })).json.webhook;
    const body = { url: "https://10.0.0.1/", event_types: ["decision.approved", "nope"] };
    for (const answer of [await org.api("POST", "", body), await org.api("PATCH", `/${id}`, body)])
      expect([answer.status, answer.json.error]).toMatchObject([
        400,
        { code: "unknown_event_type", details: [{ path: "/event_types/1" }, { path: "/url" }] },
      ]);
  });

  test("the four names that are never sent may be subscribed to, and repetitions count once", async () => {
    const event_types = ["pattern.detected", "rate_limit.exceeded", "pattern.detected"];
    const { json } = await org.api("POST", "", { url: hook, event_types });
    expect(json.webhook.event_types).toEqual(["pattern.detected", "rate_limit.exceeded"]);
  });

  test("only admins register, change and delete; operators list failed deliveries; agents only list webhooks", async () => {
    const { id: webhook_id } = await org.register(hook);
    const operator = (await org.key({ role: "operator" })).api_key;
    const agent = (await org.key({ role: "agent" })).api_key;
    const statuses = async (key: string) => [
      (await org.api("POST", "", { url: hook }, key)).status,
      (await org.api("PATCH", `/${webhook_id}`, { active: true }, key)).status,
      (await org.api("DELETE", `/${webhook_id}`, undefined, key)).status,
      (await org.api("GET", "", undefined, key)).status,
      (await org.api("GET", "/deliveries/failed", undefined, key)).status,
      (await org.api("POST", "/deliveries/dlv_00000000000000000000000000/retry", undefined, key)).status,
    ];
    expect(await statuses(operator)).toEqual([403, 403, 403, 200, 200, 404]);
    expect(await statuses(agent)).toEqual([403, 403, 403, 200, 403, 403]);
  });

  test("another organization's webhook is not found, like an unknown one", async () => {
    const { id: webhook_id } = await org.register(hook);
    const other = await newOrg();
    for (const [method, body] of [["GET"], ["PATCH", { active: false }], ["DELETE"]] as const) {
      expect((await other.api(method, `/${webhook_id}`, body)).status).toBe(404);
    }
    expect((await org.api("GET", `/${webhook_id}`)).json.webhook.active).toBe(true);
  });

  test("an Idempotency-Key registers once, and a repetition shows *** for the secret", async () => {
    const headers = { "Idempotency-Key": "hook-1" };
    const answers = await Promise.all([1, 2, 3].map(() => org.api("POST", "", { url: hook }, org.api_key, headers)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 201]);
    const first = answers.find(({ status }) => status === 201)?.json.webhook;
    expect(first.secret).toMatch(/^whsec_/);
    for (const { status, json } of answers)
      expect(json.webhook).toEqual(status === 201 ? first : { ...first, secret: "***" });
  });

  test("the hundredth webhook is accepted and the next refused, also at once; pages list all", async () => {
    const full = await newOrg();
    const answers = await Promise.all(Array.from({ length: 103 }, () => full.api("POST", "", { url: hook })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(100);
    const refused = answers.filter(({ status }) => status === 409);
    expect(refused.map(({ json }) => json.error.code)).toEqual(Array(3).fill("already_exists"));
    const first = await full.api("GET", "?limit=60");
    const second = await full.api("GET", `?limit=60&cursor=${first.json.next_cursor}`);
    expect(second.json.next_cursor).toBeNull();
    const ids = [...first.json.webhooks, ...second.json.webhooks].map((each: { id: string }) => each.id);
    expect(new Set(ids).size).toBe(100);
  });
});

describe("delivery", () => {
  test("a decision arrives with the exact body and headers, and every verifier accepts it unchanged", async () => {
    const receiver = await testReceiver();
    const fresh = await newOrg();
    const { id: webhook_id, secret } = await fresh.register(receiver.url);
    const intent_id = await fresh.submit();
    await until(1, receiver.received);
    const { headers, body } = receiver.received[0] as Received;
    const event = JSON.parse(body);
    expect(Object.keys(event)).toEqual([
      ...["data", "decision_id", "escalation_id", "escalation_status", "event_type", "intent_id", "observation_id"],
      ...["organization_id", "pattern_id", "policy_id", "timestamp", "webhook_id"],
    ]);
    expect(event).toMatchObject({
      event_type: "decision.approved",
      intent_id,
      webhook_id,
      organization_id: fresh.org_id,
      pattern_id: null,
    });
    expect(event.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(Object.keys(event.data)).toEqual([
      ...["decision_id", "human_override_id", "intent_id", "pipeline_mode", "risk_score", "timestamp", "verdict"],
    ]);
    expect(event.data).toMatchObject({ pipeline_mode: "shadow", verdict: "approve", human_override_id: null });
    expect(event.data.timestamp).toMatch(/\.\d{6}\+00:00$/);
    expect(body).not.toMatch(/[\s]/);

    expect(headers).toMatchObject({ "content-type": "application/json", "x-service-event": "decision.approved" });
    expect(id(receiver.received[0])).toMatch(/^dlv_[0-9A-Z]{26}$/);
    expect(headers["x-service-retry"]).toBeUndefined();
    const openssl = execFileSync("openssl", ["dgst", "-sha256", "-hmac", secret], { input: body }).toString().trim();
    expect(headers["x-service-signature"]).toBe(`sha256=${openssl.split(" ").at(-1)}`);
    for (const verifier of [new StandardWebhook(secret), new SvixWebhook(secret)]) {
      expect(() => verifier.verify(body, headers as Record<string, string>)).not.toThrow();
      expect(() => verifier.verify(`${body} `, headers as Record<string, string>)).toThrow();
    }
    await expect.poll(async () => JSON.stringify(await fresh.audit(intent_id))).toContain('"delivered"');
  });

  test("an event before the registration is not sent, and each webhook gets its own delivery", async () => {
    const receiver = await testReceiver();
    const fresh = await newOrg();
    await fresh.register(`${receiver.url}/first`);
    await fresh.submit();
    await fresh.register(`${receiver.url}/second`);
    const intent_id = await fresh.submit();
    await until(3, receiver.received);
    const paths = receiver.received.map((each) => [each.path, JSON.parse(each.body).intent_id === intent_id]);
    expect(paths.filter(([path]) => path === "/hook/second")).toEqual([["/hook/second", true]]);
    expect(new Set(receiver.received.map(id)).size).toBe(3);
  });

  test("a webhook gets only the types that it names", async () => {
    const receiver = await testReceiver();
    const fresh = await newOrg();
    await fresh.register(receiver.url, { event_types: ["decision.blocked"] });
    await fresh.register(`${receiver.url}/all`);
    await fresh.submit();
    await until(1, receiver.received);
    await expect.poll(async () => (await fresh.deliveries()).map(({ status }) => status)).toEqual(["delivered"]);
    expect(receiver.received[0]?.path).toBe("/hook/all");
  });

  test("three attempts have the same id and the same bytes; then the delivery is listed as failed with its reasons", async () => {
    const receiver = await testReceiver((response) => response.writeHead(503).end("no"));
    const fresh = await newOrg();
    const { id: webhook_id } = await fresh.register(receiver.url);
    const intent_id = await fresh.submit();
    await expect.poll(fresh.failed).toHaveLength(1);
    expect(receiver.received).toHaveLength(3);
    expect(new Set(receiver.received.map((each) => `${id(each)} ${each.body}`)).size).toBe(1);
    const [failed] = await fresh.failed();
    expect(failed).toMatchObject({
      delivery_id: id(receiver.received[0]),
      webhook_id,
      intent_id,
      status: "failed",
      response_status: 503,
    });
    expect(failed).toMatchObject({ event_type: "decision.approved", escalation_id: null, original_delivery_id: null });
    expect(failed.error).toBe("The receiver answered 503 instead of a 2xx status.");
    expect(
      failed.attempts.map((each: { number: number; response_status: number }) => [each.number, each.response_status]),
    ).toEqual([
      [1, 503],
      [2, 503],
      [3, 503],
    ]);
    expect(JSON.stringify(await fresh.audit(intent_id))).toContain('"delivery_failed"');
    expect((await fresh.api("GET", "/deliveries/failed?webhook_id=wh_other")).json.deliveries).toEqual([]);
  });

  test("a manual retry is a new delivery that names the first; a hundred concurrent clicks are one, under one Idempotency-Key with one answer", async () => {
    let working = false;
    // A retry stays in progress while its answer is held.
    let held: (() => void)[] | undefined;
    const receiver = await testReceiver((response) => {
      const answer = () => response.writeHead(working ? 200 : 500).end();
      if (held === undefined) answer();
      else held.push(answer);
    });
    const fresh = await newOrg();
    await fresh.register(receiver.url);
    await fresh.submit();
    await expect.poll(fresh.failed).toHaveLength(1);
    const original = id(receiver.received[0]) as string;
    const retryOf = (delivery: string) => fresh.api("POST", `/deliveries/${delivery}/retry`);
    held = [];
    const answers = await Promise.all(Array.from({ length: 20 }, () => retryOf(original)));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    expect(answers.filter(({ json }) => json.error?.code === "state_conflict")).toHaveLength(19);
    const release = held;
    held = undefined;
    for (const answer of release) answer();
    await expect.poll(fresh.failed).toHaveLength(2);
    const second = (await fresh.failed())[0];
    expect(second.original_delivery_id).toBe(original);
    const afterwards = async () => (await fresh.failed()).map((each: { latest_retry: unknown }) => each.latest_retry);
    expect(await afterwards()).toEqual([null, { delivery_id: second.delivery_id, status: "failed" }]);

    working = true;
    const keyed = { "Idempotency-Key": "third" };
    const retry = () => fresh.api("POST", `/deliveries/${second.delivery_id}/retry`, undefined, fresh.api_key, keyed);
    const repeated = await Promise.all(Array.from({ length: 5 }, retry));
    expect(repeated.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 202]);
    expect(new Set(repeated.map(({ json }) => json.delivery.delivery_id)).size).toBe(1);
    for (const { status, headers } of repeated)
      expect(headers.get("idempotent-replayed")).toBe(status === 200 ? "true" : null);
    const third = repeated[0]?.json.delivery;
    expect(third).toMatchObject({
      status: "pending",
      original_delivery_id: original,
      attempts: [],
      latest_retry: null,
    });
    await until(7, receiver.received);
    const last = receiver.received[6] as Received;
    expect(last.headers).toMatchObject({ "x-service-retry": "true", "x-service-delivery": third.delivery_id });
    const { data, ...rest } = JSON.parse(last.body);
    const first = JSON.parse(receiver.received[0]?.body ?? "");
    expect(data).toEqual({ ...first.data, original_delivery_id: original });
    expect({ ...rest, data: first.data }).toEqual(first);
    const delivered = { delivery_id: third.delivery_id, status: "delivered" };
    await expect.poll(afterwards).toEqual([delivered, delivered]);
  });

  test("only a failed delivery can be retried by hand: not a pending, delivered or cancelled one", async () => {
    let answer: (() => void) | undefined;
    const receiver = await testReceiver((response) => {
      answer = () => response.end();
    });
    const fresh = await newOrg();
    await fresh.register(receiver.url);
    await fresh.submit();
    await expect.poll(() => answer).toBeDefined();
    const [{ delivery_id } = { delivery_id: "" }] = await fresh.deliveries();
    const statusNow = async () => (await fresh.deliveries())[0]?.status;
    const refused = async () => {
      const { status, json } = await fresh.api("POST", `/deliveries/${delivery_id}/retry`);
      expect([status, json.error?.code]).toEqual([409, "state_conflict"]);
    };
    expect(await statusNow()).toBe("pending");
    await refused();
    answer?.();
    await expect.poll(statusNow).toBe("delivered");
    await refused();
    await database.db.query("update deliveries set status = 'cancelled' where delivery_id = $1", [delivery_id]);
    await refused();
    expect(await fresh.deliveries()).toHaveLength(1);
    expect(receiver.received).toHaveLength(1);
  });

  test.each([
    ["deleted", "DELETE", undefined],
    ["switched off", "PATCH", { active: false }],
  ] as const)(
    "%s between two attempts, a webhook gets nothing more and the delivery ends cancelled",
    async (_title, method, body) => {
      let change: (() => Promise<unknown>) | undefined;
      const receiver = await testReceiver((response) => {
        void change?.().then(() => response.writeHead(500).end());
      });
      const fresh = await newOrg();
      const { id: webhook_id } = await fresh.register(receiver.url);
      change = () => fresh.api(method, `/${webhook_id}`, body);
      await fresh.submit();
      await expect.poll(async () => (await fresh.deliveries())[0]?.status).toBe("cancelled");
      await fresh.submit();
      expect(await fresh.failed()).toEqual([]);
      expect(receiver.received).toHaveLength(1);
      expect(await fresh.deliveries()).toHaveLength(1);
    },
  );

  test("switched off and on again between two attempts, a webhook gets later events, not the waiting ones", async () => {
    let change: (() => Promise<unknown>) | undefined;
    const receiver = await testReceiver((response) => {
      if (change === undefined) response.end();
      else void change().then(() => response.writeHead(500).end());
    });
    const fresh = await newOrg();
    const { id: webhook_id } = await fresh.register(receiver.url);
    change = async () => {
      for (const active of [false, true]) await fresh.api("PATCH", `/${webhook_id}`, { active });
      change = undefined;
    };
    await fresh.submit();
    const statuses = async () => (await fresh.deliveries()).map(({ status }) => status);
    await expect.poll(async () => [change, await statuses()]).toEqual([undefined, ["cancelled"]]);
    const later = await fresh.submit();
    await expect.poll(statuses).toEqual(["cancelled", "delivered"]);
    expect(receiver.received.map(({ body }) => JSON.parse(body).intent_id)).toEqual([expect.any(String), later]);
  });

  test("a webhook that watches one escalation gets only that one, and never decisions", async () => {
    const fresh = await newOrg();
    const receiver = await testReceiver();
    const now = "2026-01-01T00:00:00.000000Z";
    const escalations = ["esc_0000000000000000000000000A", "esc_0000000000000000000000000B"];
    for (const escalation_id of escalations) {
      await database.db.query(
        `insert into escalations (org_id, escalation_id, intent_id, decision_id, agent_id, mode, status, record, created_at, expires_at, demands)
         values ($1, $2, 'int_x', 'dec_x', 'a', 'live', 'pending', '{}', $3::timestamptz, '2100-01-01', '[]')`,
        [fresh.org_id, escalation_id, now],
      );
    }
    await fresh.register(`${receiver.url}/org`);
    await fresh.register(`${receiver.url}/a`, { escalation_id: escalations[0] });
    await fresh.register(`${receiver.url}/b`, { escalation_id: escalations[1] });
    await fresh.submit();
    const body = {
      data: {},
      event_type: "escalation.decided",
      escalation_id: escalations[0],
      organization_id: fresh.org_id,
    };
    await database.db.query(
      `insert into events (org_id, event_id, event_type, escalation_id, body, created_at)
       values ($1, 'evt_1', 'escalation.decided', $2, $3::json, $4::timestamptz)`,
      [fresh.org_id, escalations[0], JSON.stringify(body), now],
    );
    await until(3, receiver.received);
    const got = receiver.received.map((each) => `${each.path} ${each.headers["x-service-event"]}`).sort();
    expect(got).toEqual(["/hook/a escalation.decided", "/hook/org decision.approved", "/hook/org escalation.decided"]);
  });
});
