/** DATABASE_URL lists a primary and a standby, which is promoted. */
import { expect, onTestFinished, test } from "vitest";
import { createLog } from "../../src/edge/log.ts";
import { startService } from "../../src/edge/main.ts";
import { readConfig } from "../../src/edge/start/config.ts";
import { temporaryDir } from "../../src/testing/database/embedded.ts";
import { openPair } from "../../src/testing/database/standby.ts";
import { builtThread } from "../../src/testing/nodes/built-thread.ts";
import { sharedPacks } from "../../src/testing/nodes/service-node.ts";

test("a service whose DATABASE_URL lists a standby works on the primary, and on the standby once that is promoted", async () => {
  const { primary, addresses, promote } = await openPair();
  const hosts = `${addresses.standby},${addresses.primary}`;
  const DATABASE_URL = `postgres://countersign@${hosts}/countersign?target_session_attrs=read-write`;
  const COUNTERSIGN_DATA_DIR = await temporaryDir();
  const config = readConfig({ DATABASE_URL, COUNTERSIGN_DATA_DIR, PORT: "0", HOST: "127.0.0.1" });
  const shared = { packs: sharedPacks(), deliveryThread: builtThread("delivery-thread") };
  const service = await startService(config, createLog("silent"), shared);
  onTestFinished(() => service.stop());
  const send = async (path: string, body: object | null, key = "") => {
    const headers = { "content-type": "application/json", ...(key === "" ? {} : { "x-api-key": key }) };
    const init = body === null ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await fetch(`${service.url}/v1${path}`, init);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const organization = { org_name: "Acme", email: "you@example.com", description: "an agent that pays invoices" };
  const { body } = await send("/onboarding/quickstart", organization);
  const key = String(body["api_key"]);
  const submit = async (payer: string) => {
    const action = { type: "payment.transfer", verb: "send_money" };
    const intent = { agent: { id: payer }, action, payload: { content: { amount_usd: 12 } } };
    return (await send("/intents", { intent }, key)).status;
  };
  expect(await submit("before")).toBe(201);
  await primary.stop();
  await promote();
  await expect.poll(() => submit("after")).toBe(201);
  const { intents } = (await send("/intents", null, key)).body as { intents: { agent: { id: string } }[] };
  expect(intents.map(({ agent }) => agent.id).sort()).toEqual(["after", "before"]);
});
