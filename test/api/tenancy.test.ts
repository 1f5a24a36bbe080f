/** Isolates organizations, also if a statement forgets to name one. Source: spec §5 rule 4. */
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call, type TestOrganization, testOrganization } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";

const database = await testDatabase();
const { db } = database;
const shared = [
  "clock_reached",
  "clock_steps",
  "instance",
  "key_index",
  "mails",
  "onboarding_intakes",
  "passkey_index",
  "person_index",
  "person_tokens",
  "schema_migrations",
  "session_index",
  "sso_domains",
  "stranger_invitations",
];

let url: string;
const orgs: { org: TestOrganization; key: string }[] = [];
let owned: { method: string; path: string; unknown: string; body?: unknown }[];

beforeAll(async () => {
  ({ url } = await serviceNode(database));
  for (let n = 0; n < 2; n++) {
    const org = await testOrganization(db);
    orgs.push({ org, key: (await org.key()).api_key });
  }
  const key = orgs[0]?.key as string;
  const post = async (path: string, body: unknown) => (await call(url, "POST", path, { key, body })).json;
  const context = { contract_version: "1", facts: { security: { active_security_incident: true } } };
  const intent = { agent: { id: "a" }, action: { type: "system.deploy", verb: "ship" } };
  const membrane = (await post("/v1/membranes", { name: "mine" })).membrane.membrane_id;
  await call(url, "POST", `/v1/membranes/${membrane}/go-live`, { key });
  await call(url, "PATCH", `/v1/membranes/${membrane}`, { key, body: { packs: ["security"] } });
  const facts = {
    ...context,
    facts: { security: { active_security_incident: true, prompt_injection_detected: false } },
  };
  const held = await post("/v1/intents", { intent, context: facts, membrane_id: membrane });
  const escalation = held.decision.escalation_id;
  expect(escalation).toMatch(/^esc_/);
  await call(url, "PUT", "/v1/context/agents/a", { key, body: context });
  const webhook = (await post("/v1/escalations/webhooks", { url: "https://hooks.example.com/x" })).webhook.id;
  const { key_id } = await (orgs[0] as { org: TestOrganization }).org.key();
  const document = {
    apiVersion: "countersign/v1",
    kind: "Policy",
    metadata: { name: "mine" },
    spec: { when: "params.amount > 5", effect: "block", on_unknown: "skip" },
  };
  const policy = (await post("/v1/policies", { policy: document })).policy.policy_id;
  await call(url, "PUT", "/v1/context/targets/service/shop", { key, body: context });
  const blocked = await post("/v1/intents", {
    intent: { ...intent, action: { type: "communication.email", verb: "send" } },
    context: { ...context, facts: { security: { prompt_injection_detected: true } } },
    membrane_id: membrane,
  });
  const override = (await post(`/v1/intents/${blocked.intent_id}/override`, { reason: "because" })).override
    ?.override_id as string | undefined;
  const rows = (method: string, prefix: string, id: string, rest = "", body?: unknown) => ({
    method,
    path: `${prefix}/${id}${rest}`,
    unknown: `${prefix}/${id.slice(0, 4)}00000000000000000000000000${rest}`,
    ...(body === undefined ? {} : { body }),
  });
  owned = [
    rows("GET", "/v1/intents", held.intent_id),
    rows("GET", "/v1/intents", held.intent_id, "/decision"),
    rows("GET", "/v1/intents", held.intent_id, "/audit"),
    rows("POST", "/v1/intents", held.intent_id, "/observations", { status: "executed" }),
    rows("POST", "/v1/intents", held.intent_id, "/override", { reason: "because" }),
    rows("GET", "/v1/membranes", membrane),
    rows("PATCH", "/v1/membranes", membrane, "", { name: "taken over" }),
    rows("POST", "/v1/membranes", membrane, "/go-live"),
    rows("POST", "/v1/membranes", membrane, "/return-to-shadow", { reason: "because" }),
    rows("GET", "/v1/escalations", escalation),
    rows("POST", "/v1/escalations", escalation, "/decision", { outcome: "approve" }),
    rows("POST", "/v1/escalations", escalation, "/cancel", {}),
    rows("GET", "/v1/escalations/webhooks", webhook),
    rows("PATCH", "/v1/escalations/webhooks", webhook, "", { active: false }),
    rows("DELETE", "/v1/escalations/webhooks", webhook),
    rows("DELETE", "/v1/api-keys", key_id),
    rows("POST", "/v1/escalations", escalation, "/reassign", { reviewers: [{ type: "role", id: "operator" }] }),
    rows("GET", "/v1/intents", held.intent_id, "/decision?wait=1"),
    rows("GET", "/v1/policies", policy),
    rows("GET", "/v1/policies", policy, "/readiness"),
    rows("GET", "/v1/policies", policy, "/versions"),
    rows("PUT", "/v1/policies", policy, "", { policy: document }),
    rows("POST", "/v1/policies", policy, "/activate", { mode: "live" }),
    rows("POST", "/v1/policies", policy, "/retire"),
    ...(override === undefined ? [] : [rows("DELETE", "/v1/overrides", override)]),
    {
      method: "DELETE",
      path: "/v1/context/targets/service/shop",
      unknown: "/v1/context/targets/service/nothing",
    },
    { method: "GET", path: "/v1/context/agents/a", unknown: "/v1/context/agents/nobody" },
    { method: "DELETE", path: "/v1/context/agents/a", unknown: "/v1/context/agents/nobody" },
  ];
});

test("another organization's resources answer 404, byte for byte like missing ones", async () => {
  const key = orgs[1]?.key as string;
  const anonymous = (text: string) => text.replace(/req_\w+/, "");
  for (const { method, path, unknown, body } of owned) {
    const foreign = await call(url, method, path, { key, body });
    const missing = await call(url, method, unknown, { key, body });
    expect([foreign.status, missing.status], `${method} ${path}`).toEqual([404, 404]);
    expect(anonymous(foreign.text)).toBe(anonymous(missing.text));
  }
});

test("bodies cannot name resources of another organization", async () => {
  const key = orgs[1]?.key as string;
  const anonymous = (text: string) => text.replace(/req_\w+/, "");
  const named = (prefix: string) =>
    owned.map(({ path }) => path.match(new RegExp(`${prefix}_\\w{26}`))?.[0]).find(Boolean);
  const none = "0".repeat(26);
  const intent = { agent: { id: "a" }, action: { verb: "v" } };
  for (const [path, body] of [
    ["/v1/intents", (id: string) => ({ intent, membrane_id: id.replace("esc_", "mem_") })],
    ["/v1/escalations/webhooks", (id: string) => ({ url: "https://hooks.example.com/x", escalation_id: id })],
  ] as const) {
    const id = named(path === "/v1/intents" ? "mem" : "esc") as string;
    const foreign = await call(url, "POST", path, { key, body: body(id) });
    const missing = await call(url, "POST", path, { key, body: body(`${id.slice(0, 4)}${none}`) });
    expect([foreign.status, missing.status], path).toEqual([404, 404]);
    expect(anonymous(foreign.text)).toBe(anonymous(missing.text));
  }
  const hook = named("wh") as string;
  const failed = await call(url, "GET", `/v1/escalations/webhooks/deliveries/failed?webhook_id=${hook}`, { key });
  expect([failed.status, failed.json.deliveries]).toEqual([200, []]);
});

test("no list shows another organization's rows", async () => {
  const key = orgs[1]?.key as string;
  const paths = ["/v1/intents", "/v1/escalations", "/v1/escalations/webhooks", "/v1/overrides", "/v1/policies"];
  for (const path of paths) {
    const { status, json } = await call(url, "GET", path, { key });
    expect(status, path).toBe(200);
    expect(Object.values(json).find(Array.isArray), path).toEqual([]);
  }
  const membranes = (await call(url, "GET", "/v1/membranes", { key })).json.membranes;
  expect(membranes.map((each: { name: string }) => each.name)).toEqual(["default"]);
});

describe("row-level security, with no org_id in the statement", () => {
  const tables = () =>
    db.query<{ name: string; forced: boolean; enabled: boolean }>(
      `select c.relname as name, c.relrowsecurity as enabled, c.relforcerowsecurity as forced from pg_class c
       join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'public' and c.relkind = 'r' order by 1`,
    );

  test("is enabled and forced on every table of organizations", async () => {
    const all = await tables();
    const open = all.filter((table) => !table.enabled || !table.forced).map((table) => table.name);
    expect(open.filter((name) => !shared.includes(name))).toEqual([]);
    expect(all.length).toBeGreaterThan(15);
  });

  test("a transaction sees its own organization's rows only, and without one it sees none", async () => {
    const [mine, other] = orgs.map(({ org }) => org.org_id) as [string, string];
    let seen = 0;
    for (const { name } of (await tables()).filter((table) => !shared.includes(table.name))) {
      const owners = (org_id: string) =>
        db.tenant(org_id, (query) => query<{ org_id: string }>(`select distinct org_id from ${name}`));
      for (const row of await owners(mine)) {
        expect(row.org_id, name).toBe(mine);
        seen += 1;
      }
      for (const row of await owners(other)) expect(row.org_id, name).toBe(other);
      expect(await owners("org_00000000000000000000000000"), name).toEqual([]);
    }
    expect(seen).toBeGreaterThan(8);
  });

  test("a transaction cannot change another organization's rows", async () => {
    const [mine, other] = orgs.map(({ org }) => org.org_id) as [string, string];
    const changed = await db.tenant(other, (query) =>
      query("update membranes set name = 'x' where org_id = $1 returning 1", [mine]),
    );
    expect(changed).toEqual([]);
    const insert =
      "insert into ledger (org_id, seq, entry, at, type, actor, audit_id, hash) values ($1, 1000000, 1000000, now(), 'observed', 'a', 'b', '')";
    await expect(db.tenant(other, (query) => query(insert, [mine]))).rejects.toThrow(/row-level security/);
  });
});
