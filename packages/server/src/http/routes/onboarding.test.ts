import { execFile } from "node:child_process";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { call } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";

const database = await testDatabase();
let url: string;
let closed: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
  ({ url: closed } = await serviceNode(database, { config: { signup: "closed" } }));
});

const quickstart = (body: object, base = url) => call(base, "POST", "/v1/onboarding/quickstart", { body });
const acme = {
  org_name: "Acme",
  email: "dev@example.com",
  description: "A clinic whose agents call patients in Texas by phone",
};

describe("POST /v1/onboarding/quickstart", () => {
  test("201 returns the seven fields of the contract, and the key works as admin of the new organization", async () => {
    const { status, json } = await quickstart(acme);
    expect(status).toBe(201);
    expect(Object.keys(json).sort()).toEqual(
      ["api_key", "key_id", "membrane_id", "membrane_status", "next_steps", "org_id", "quickstart_snippet"].sort(),
    );
    expect(json).toMatchObject({ membrane_status: "shadow" });
    expect(json.api_key).toMatch(/^svc_live_org_[0-9A-Za-z]{38}$/);
    expect(json.next_steps.join(" ")).toMatch(/tcpa/);
    expect(json.next_steps.join(" ")).toMatch(/security\.prompt_injection_detected.*Switch on the pack account when/);
    const keys = await call(url, "GET", "/v1/api-keys", { key: json.api_key });
    expect(keys.json.api_keys.map((key: { key_id: string }) => key.key_id)).toEqual([json.key_id]);
    const membranes = await call(url, "GET", "/v1/membranes", { key: json.api_key });
    expect(membranes.json.membranes[0]).toMatchObject({
      membrane_id: json.membrane_id,
      status: "shadow",
      is_default: true,
    });
  });

  test("the snippet runs unchanged, makes one bound key, submits with it only, and prints the decision", async () => {
    const { json } = await quickstart(acme);
    const dir = await mkdtemp(join(tmpdir(), "countersign-snippet-"));
    try {
      await writeFile(join(dir, "first-intent.mjs"), json.quickstart_snippet);
      for (let run = 0; run < 2; run += 1) {
        const { stdout } = await promisify(execFile)(process.execPath, ["first-intent.mjs"], { cwd: dir });
        expect(stdout).toMatch(/^approve risk 0 mode shadow/);
      }
      const { api_keys } = (await call(url, "GET", "/v1/api-keys", { key: json.api_key })).json;
      expect(api_keys).toMatchObject([
        {
          role: "agent",
          bindings: { membrane_ids: [json.membrane_id], agent_ids: ["my-first-agent"], forbid_shadow: true },
          warnings: [],
        },
        { key_id: json.key_id, role: "admin", warnings: [] },
      ]);
      const file = join(dir, `my-first-agent.${json.membrane_id}.key`);
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      const { intents } = (await call(url, "GET", "/v1/intents", { key: json.api_key })).json;
      expect(intents.map((each: { submitted_by: { id: string } }) => each.submitted_by.id)).toEqual([
        ...[api_keys[0].key_id, api_keys[0].key_id],
      ]);
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  test.each([
    [{ ...acme, org_name: undefined }, "/org_name"],
    [{ ...acme, org_name: "   " }, "/org_name"],
    [{ ...acme, email: "nobody" }, "/email"],
    [{ ...acme, description: 5 }, "/description"],
    [{ ...acme, plan: "gold" }, "/plan"],
  ])("400 for %j", async (body, path) => {
    const { status, json } = await quickstart(body);
    expect(status).toBe(400);
    expect(json.error.details[0].path).toBe(path);
  });

  test("403 signup_closed if sign-up is closed, also for intake, and nothing is created", async () => {
    const count = async () =>
      (await database.db.query<{ count: number }>("select count(*) as count from organizations"))[0]?.count;
    const before = await count();
    expect((await quickstart(acme, closed)).json.error.code).toBe("signup_closed");
    expect((await call(closed, "POST", "/v1/onboarding/intake", { body: { description: "x" } })).status).toBe(403);
    for (const path of ["quickstart", "intake"])
      expect((await call(closed, "POST", `/v1/onboarding/${path}`, { body: {} })).status).toBe(403);
    expect(await count()).toBe(before);
  });
});

describe("POST /v1/onboarding/intake", () => {
  test("accepts the answer of MCP's tools/list unchanged, and quickstart stores only certain entries", async () => {
    const object = { type: "object", properties: { amount: { type: "number" } } };
    const tools = [
      {
        name: "wire_money",
        title: "Wire money",
        description: "Wires money to an account",
        inputSchema: object,
        outputSchema: object,
        annotations: { title: "Wire", readOnlyHint: false, destructiveHint: true, openWorldHint: true },
        execution: { taskSupport: "optional" },
        icons: [{ src: "https://example.com/icon.png", mimeType: "image/png" }],
        _meta: { "example.com/owner": "treasury" },
      },
      { name: "frobnicate", inputSchema: { type: "object" } },
      { name: "op7", description: "Sends an email", inputSchema: { type: "object" } },
    ];
    const { status, json } = await call(url, "POST", "/v1/onboarding/intake", {
      body: { description: "a bank", tools },
    });
    expect(status, JSON.stringify(json)).toBe(200);
    expect(json.action_catalogue).toMatchObject([
      { verb: "wire_money", type: "payment.transfer", confidence: 0.9 },
      { verb: "frobnicate", type: "other.unclassified", confidence: 0.1 },
      { verb: "op7", type: "communication.email", confidence: 0.5 },
    ]);
    const started = await quickstart({ ...acme, intake_id: json.intake_id });
    const { membrane } = (
      await call(url, "GET", `/v1/membranes/${started.json.membrane_id}`, { key: started.json.api_key })
    ).json;
    // A guess would override the agents' own declarations.
    expect(membrane.action_catalogue).toEqual([
      { verb: "wire_money", type: "payment.transfer", data_classes: [], parameters: { amount: "number" } },
    ]);
    expect(started.json.next_steps.join("\n")).toMatch(/because their names are ambiguous: frobnicate, op7\./);
  });

  test("an agent's data classes are used if a tool's words mention only personal data", async () => {
    const tools = [
      { name: "send_email", description: "Sends an email to a recipient" },
      { name: "get_patient", description: "Reads a patient's name" },
    ];
    const { json } = await call(url, "POST", "/v1/onboarding/intake", { body: { description: "a hospital", tools } });
    expect(json.action_catalogue[0]).toMatchObject({ verb: "send_email", data_classes: ["personal"] });
    const started = await quickstart({ ...acme, intake_id: json.intake_id });
    const key = started.json.api_key;
    const membrane = (await call(url, "GET", `/v1/membranes/${started.json.membrane_id}`, { key })).json.membrane;
    expect(membrane.action_catalogue).toMatchObject([
      { verb: "send_email", data_classes: [] },
      { verb: "get_patient", data_classes: ["phi", "personal"] },
    ]);
    const intent = { agent: { id: "a" }, action: { verb: "send_email" }, data_classes: ["phi"] };
    const submitted = await call(url, "POST", "/v1/intents", { key, body: { intent } });
    const read = await call(url, "GET", `/v1/intents/${submitted.json.intent_id}`, { key });
    expect(read.json.intent.decided_as).toEqual({ type: "communication.email", data_classes: ["phi"] });
  });

  test("recommends with the matching words, and quickstart stores the catalogue once", async () => {
    const body = {
      description: "healthcare call centre with AI agents for billing and scheduling in Texas and California",
      tools: [
        { name: "send_sms", description: "Send a text message to a patient" },
        { name: "charge_card", description: "Charge a credit card" },
      ],
    };
    const { status, json } = await call(url, "POST", "/v1/onboarding/intake", { body });
    expect(status).toBe(200);
    expect(json.intake_id).toMatch(/^ink_/);
    const packs = json.recommended_packs.map((each: { pack: string }) => each.pack);
    for (const pack of ["hipaa", "tcpa", "ccpa", "pci"]) expect(packs).toContain(pack);
    expect(json.recommended_packs.every((each: { because: string }) => each.because.length > 0)).toBe(true);
    expect(json.action_catalogue[0]).toMatchObject({ verb: "send_sms", type: "communication.sms" });
    const started = await quickstart({ ...acme, intake_id: json.intake_id });
    expect(started.status).toBe(201);
    const key = started.json.api_key;
    const membrane = (await call(url, "GET", `/v1/membranes/${started.json.membrane_id}`, { key })).json.membrane;
    expect(membrane.action_catalogue.map((entry: { verb: string }) => entry.verb)).toEqual(["send_sms", "charge_card"]);
    expect((await quickstart({ ...acme, intake_id: json.intake_id })).json.error.code).toBe("not_found");
    for (const intake_id of ["ink_00000000000000000000000000", "ink_nope", "a".repeat(128)])
      expect((await quickstart({ ...acme, intake_id })).status).toBe(404);
    for (const intake_id of ["", "a".repeat(129)]) expect((await quickstart({ ...acme, intake_id })).status).toBe(400);
  });
});
