import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { databaseUrl, emptyDatabase, testDatabase } from "../testing/database/database.ts";
import { openNetwork } from "../testing/network/network.ts";
import { builtThread } from "../testing/nodes/built-thread.ts";
import { sharedPacks } from "../testing/nodes/service-node.ts";
import { openInstance } from "./instance/instance.ts";
import { createLog } from "./log.ts";
import { startService } from "./main.ts";
import { readConfig } from "./start/config.ts";

const { connection } = await testDatabase();

test("ends in order without its database, even if a key's use is not stored yet", {
  timeout: 120_000,
}, async () => {
  const network = await openNetwork(connection);
  onTestFinished(() => network.close());
  const data_dir = await mkdtemp(join(tmpdir(), "end-without-database-"));
  onTestFinished(() => rm(data_dir, { recursive: true, force: true }));
  const settings = { PORT: "0", HOST: "127.0.0.1", COUNTERSIGN_DATA_DIR: data_dir, LOG_LEVEL: "silent" };
  const config = readConfig({ ...settings, DATABASE_URL: databaseUrl(network.connection) });
  const shared = { packs: sharedPacks(), deliveryThread: builtThread("delivery-thread") };
  const service = await startService(config, createLog("silent"), shared);
  const send = (path: string, init: RequestInit) =>
    fetch(`${service.url}/v1${path}`, init).then((answer) => answer.json() as Promise<{ readonly api_key?: string }>);
  const organization = { org_name: "Acme", email: "you@example.com", description: "an agent that pays invoices" };
  const headers = { "content-type": "application/json" };
  const { api_key } = await send("/onboarding/quickstart", {
    method: "POST",
    headers,
    body: JSON.stringify(organization),
  });
  expect(await send("/intents", { headers: { "x-api-key": String(api_key) } })).toMatchObject({ intents: [] });
  await network.close();
  await expect(service.stop()).resolves.toBeUndefined();
});

test.each(["the service", "a command"])(
  "%s whose database is lost during its start says so in one line with advice",
  async (what) => {
    const network = await openNetwork(await emptyDatabase());
    onTestFinished(() => network.close());
    const log = { ...createLog("silent"), info: () => void network.close() };
    const config = readConfig({ PORT: "0", DATABASE_URL: databaseUrl(network.connection) });
    await expect(
      what === "a command" ? openInstance(config, log) : startService(config, log, { packs: sharedPacks() }),
    ).rejects.toThrow(
      expect.objectContaining({
        name: "StartRefused",
        message: expect.stringMatching(
          /^the database was lost or too slow during the start \(.+\): .*countersign doctor.*$/,
        ),
      }),
    );
  },
);
