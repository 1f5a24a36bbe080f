import { createHmac } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createClient } from "../../packages/sdk/src/index.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);
let directory: string;
let org: Reviewed;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "countersign-readme-"));
  org = await reviewedOrganization(database.db, url, { packs: ["account"] });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true, force: true });
});

type Sample = (...given: unknown[]) => Promise<unknown>;

/** Returns the exports of the sample that defines `name`, with this test's service and client. */
async function sample(name: string, definition = `async function ${name}(`): Promise<Sample> {
  const readme = await readFile(new URL("../../packages/sdk/README.md", import.meta.url), "utf8");
  const samples = Array.from(readme.matchAll(/```ts\n(.*?)```/gs), ([, text = ""]) => text);
  const text = samples.find((each) => each.includes(definition)) ?? "";
  const file = join(directory, `${name}.ts`);
  const client = import.meta.resolve("../../packages/sdk/src/index.ts");
  await writeFile(file, text.replace("@countersign/sdk", client).replace("http://127.0.0.1:8080", url));
  return (await import(file))[name];
}

test("an agent pays if approved, waits for people, pays the changed amount, and does not pay if blocked", async () => {
  vi.stubEnv("COUNTERSIGN_API_KEY", org.agent);
  const sendMoney = await sample("sendMoney");
  const [admin, reviewer] = [org.admin, org.reviewer].map((api_key) => createClient({ base_url: url, api_key }));
  if (admin === undefined || reviewer === undefined) throw new Error("no clients");
  const spec = { when: "params.amount_usd > 100.0", effect: "escalate", message: "large" };
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "large", title: "large" }, spec };
  await admin.activatePolicy((await admin.createPolicy({ policy })).policy_id, "live");
  const account = { account_status: "active", account_balance_usd: 900 };
  const paid: unknown[] = [];
  const pay = async (payment: unknown) => void paid.push(payment);

  expect(await sendMoney({ amount_usd: 50 }, account, pay)).toBe("paid");
  expect(await sendMoney({ amount_usd: 1200 }, account, pay)).toMatch(/^not paid: The amount is above the balance/);
  expect(await sendMoney({ amount_usd: 50 }, {}, pay)).toMatch(/facts\.entity_state\.account_status is missing/);
  const held = sendMoney({ amount_usd: 400, to: "x" }, account, pay);
  const pending = async () => (await reviewer.listEscalations({ status: "pending" })).escalations[0]?.escalation_id;
  await expect.poll(pending).toBeDefined();
  const smaller = { op: "replace" as const, path: "/amount_usd", value: 80 };
  await reviewer.decideEscalation((await pending()) ?? "", { outcome: "approve_modified", modifications: [smaller] });
  expect(await held).toBe("paid");
  expect(paid).toEqual([{ amount_usd: 50 }, { amount_usd: 80, to: "x" }]);
});

test("lists an agent's refused actions page by page", async () => {
  vi.stubEnv("COUNTERSIGN_API_KEY", org.admin);
  const blockedOf = await sample("blockedOf");
  const admin = createClient({ base_url: url, api_key: org.admin });
  const { intents } = await admin.listIntents({ agent_id: "invoice-bot", verdict: "block" });
  expect(intents.length).toBeGreaterThan(0);
  expect(await blockedOf("invoice-bot")).toEqual(intents.map(({ intent_id }) => intent_id));
  expect(await blockedOf("nobody")).toEqual([]);
});

test("a guarded function submits its description, and runs", async () => {
  vi.stubEnv("COUNTERSIGN_API_KEY", org.agent);
  const transfer = await sample("transfer", "const transfer =");
  expect(await transfer({ amount_usd: 1, to: "ann" })).toBe("sent 1 USD to ann");
  const admin = createClient({ base_url: url, api_key: org.admin });
  expect((await admin.listIntents({ limit: 1 })).intents[0]).toMatchObject({
    agent: { id: "desk-bot" },
    payload: { summary: "Send 1 USD to ann" },
  });
});

test("a receiver accepts a genuine delivery once and refuses a forged one", async () => {
  const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
  vi.stubEnv("WEBHOOK_SECRET", secret);
  const receive = await sample("receive");
  const told = vi.spyOn(console, "log").mockReturnValue();
  const body = '{"event_type":"quota.exceeded","intent_id":null}';
  const post = async (key: string) => {
    const headers = {
      "X-Service-Delivery": "dlv_1",
      "X-Service-Event": "quota.exceeded",
      "X-Service-Signature": `sha256=${createHmac("sha256", key).update(body).digest("hex")}`,
    };
    return ((await receive(new Request("https://receiver.test", { method: "POST", headers, body }))) as Response)
      .status;
  };
  expect([await post(secret), await post(secret), await post("whsec_other")]).toEqual([204, 204, 400]);
  expect(told.mock.calls).toEqual([["dlv_1", "quota.exceeded", null]]);
  told.mockRestore();
});
