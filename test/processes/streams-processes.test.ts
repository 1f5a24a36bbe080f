/** A service that is killed while it writes an object, and another one that goes on. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@countersign/sdk";
import { expect, onTestFinished, test } from "vitest";
import { startCli } from "../../packages/cli/src/testing/start-cli.ts";
import { databaseUrl, testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { s3Settings, s3Store } from "../../packages/server/src/testing/network/s3-store.ts";

const database = await testDatabase();
const patience = { timeout: 240_000, interval: 200 };
const master_key = Buffer.alloc(32, 7).toString("base64");

async function service() {
  const dir = await mkdtemp(join(tmpdir(), "streams-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  const running = startCli(["serve"], {
    PORT: "0",
    HOST: "127.0.0.1",
    DATABASE_URL: databaseUrl(database.connection),
    COUNTERSIGN_DATA_DIR: dir,
    COUNTERSIGN_MASTER_KEY: master_key,
    COUNTERSIGN_RATE_LIMITS: "intents=1000000,general=1000000,onboarding=1000000",
    COUNTERSIGN_WEBHOOK_ALLOW_HTTP: "true",
    COUNTERSIGN_WEBHOOK_ALLOW_CIDRS: "127.0.0.0/8",
  });
  onTestFinished(() => void running.process.kill("SIGKILL"));
  const [base_url] = await running.printed(/http:\/\/127\.0\.0\.1:\d+/);
  return { client: createClient({ base_url }), ...running };
}

const intents = Array.from({ length: 50 }, (_, n) => ({
  intent: { agent: { id: "agent-1" }, action: { type: "payment.transfer", verb: "pay" }, payload: { content: { n } } },
}));

/** With fewer records, an entry waits for a minute. */
const batches = 45;

test("a service that is killed while it writes leaves no gap, and the next one writes no entry twice", {
  timeout: 600_000,
}, async () => {
  const store = await s3Store();
  const { region, bucket, access_key_id, secret_access_key } = s3Settings;
  const secrets = { region, bucket, access_key_id, secret_access_key };
  const first = await service();
  const target = { kind: "s3", endpoint: store.endpoint, ...secrets } as const;
  const { stream_id } = await first.client.createStream({ name: "siem", format: "jsonl", target });
  store.fault = () => "hangs";
  for (let n = 0; n < batches; n += 1) await first.client.submitIntentBatch(intents);
  const hung = () => store.asked.find((name) => name.endsWith(".jsonl"));
  await expect.poll(hung, patience).toBeDefined();
  first.process.kill("SIGKILL");
  await first.finished;
  expect([...store.objects.keys()]).toEqual([]);

  store.fault = () => null;
  // The lease of the killed service is over.
  await database.db.query("update streams set due_at = now()");
  const second = await service();
  for (let n = 0; n < batches; n += 1) await second.client.submitIntentBatch(intents);
  const decisions = () =>
    [...store.objects.entries()]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([, bytes]) => String(bytes).split("\n").slice(0, -1))
      .filter((line) => line.includes('"type":"decided"'))
      .map((line) => (JSON.parse(line) as { intent_id: string }).intent_id);
  await expect.poll(() => decisions().length, patience).toBeGreaterThanOrEqual(2 * batches * intents.length);
  const rows = await database.db.query<{ intent_id: string }>(
    "select intent_id from ledger where type = 'decided' order by seq",
  );
  expect(decisions()).toEqual(rows.map(({ intent_id }) => intent_id));
  expect(store.objects.has(hung() ?? "")).toBe(true);
  const stream = await second.client.getStream(stream_id);
  expect(stream).toMatchObject({ problem: null, active: true });
});
