/** Webhooks across processes: the service killed in the middle, the listener of the command line, the example receiver. */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { networkList } from "@countersign/core";
import { createClient } from "@countersign/sdk";
import { expect, onTestFinished, test } from "vitest";
import { beginCli } from "../../packages/cli/src/testing/run-cli.ts";
import { startCli } from "../../packages/cli/src/testing/start-cli.ts";
import { createHttpOut } from "../../packages/server/src/edge/outgoing/http-out.ts";
import { createSealer } from "../../packages/server/src/edge/start/sealer.ts";
import { openClient } from "../../packages/server/src/store/database/connection.ts";
import { databaseUrl, testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";

const database = await testDatabase();
const intent = { agent: { id: "agent-1" }, action: { type: "communication.email", verb: "send_email" } };

async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "webhooks-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  return dir;
}

/** The master key of all services of this file: one opens what another sealed. */
const master_key = Buffer.alloc(32, 7);

/** A process of the service on the file's database, to be killed. It may call receivers on this machine. */
async function service(data_dir: string) {
  const running = startCli(["serve"], {
    PORT: "0",
    HOST: "127.0.0.1",
    DATABASE_URL: databaseUrl(database.connection),
    COUNTERSIGN_DATA_DIR: data_dir,
    COUNTERSIGN_MASTER_KEY: master_key.toString("base64"),
    COUNTERSIGN_WEBHOOK_ALLOW_HTTP: "true",
    COUNTERSIGN_WEBHOOK_ALLOW_CIDRS: "127.0.0.0/8",
  });
  onTestFinished(() => void running.process.kill("SIGKILL"));
  const [url] = await running.printed(/http:\/\/127\.0\.0\.1:\d+/);
  return { url, client: createClient({ base_url: url }), ...running };
}

/** Another node on the file's database, in the process of the test; as `service`, but nobody kills it. */
async function node() {
  const rules = { allow_http: true, allow_networks: networkList(["127.0.0.0/8"]) };
  const httpOut = createHttpOut({ rules });
  const { url, close } = await serviceNode(database, { httpOut, sealer: createSealer(master_key) });
  const stop = () => close().then(() => httpOut.close());
  onTestFinished(stop);
  return { url, client: createClient({ base_url: url }), stop };
}

/** Records delivery ids with their times; answers what it is told. */
async function receiver(answer: () => number | "hold" | Promise<number>) {
  const received: { id: string; at_ms: number }[] = [];
  const server = createServer((request, response) => {
    request.resume().on("end", async () => {
      received.push({ id: String(request.headers["x-service-delivery"]), at_ms: performance.now() });
      const status = await answer();
      if (status !== "hold") response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

const statusOf = async (delivery_id: string) => {
  const rows = await database.db.query<{ status: string; attempts: number }>(
    "select status, attempts from deliveries where delivery_id = $1",
    [delivery_id],
  );
  return rows[0];
};

/** Time passes for this delivery: whatever it waits for is due now. */
const passTime = (delivery_id: string) =>
  database.db.query("update deliveries set due_at = clock_timestamp() where delivery_id = $1 and status = 'pending'", [
    delivery_id,
  ]);

const dueOf = async (delivery_id: string) =>
  (
    await database.db.query<{ due_at: string; ended: number }>(
      "select due_at, json_array_length(outcomes) as ended from deliveries where delivery_id = $1",
      [delivery_id],
    )
  )[0];

const kill = async (running: Awaited<ReturnType<typeof service>>) => {
  running.process.kill("SIGKILL");
  await running.finished;
};

test("killed while a receiver holds an attempt, the delivery is not lost: the other node makes it again under the same id", async () => {
  const dir = await folder();
  const hook = await receiver(() => (hook.received.length === 1 ? "hold" : 200));
  const first = await service(dir);
  const webhook = await first.client.registerWebhook({ url: hook.url });
  await first.client.submitIntent({ intent });
  await expect.poll(() => hook.received.length, { timeout: 60_000, interval: 10 }).toBe(1);
  const id = hook.received[0]?.id as string;
  const second = await node();
  await second.client.listWebhooks();
  // While the lease runs nobody else has it.
  expect(await statusOf(id)).toEqual({ status: "pending", attempts: 1 });
  await kill(first);
  await passTime(id);
  await expect.poll(() => hook.received.length, { timeout: 60_000, interval: 50 }).toBe(2);
  expect(hook.received[1]?.id).toBe(id);
  await expect.poll(() => statusOf(id), { timeout: 60_000 }).toEqual({ status: "delivered", attempts: 2 });
  await second.client.deleteWebhook(webhook.id);
  await second.stop();
});

test("killed in the waits after its attempts, a delivery keeps its time and its id, and the third attempt is the last", async () => {
  const dir = await folder();
  const hook = await receiver(() => 500);
  const first = await service(dir);
  const webhook = await first.client.registerWebhook({ url: hook.url });
  await first.client.submitIntent({ intent });
  await expect.poll(() => hook.received.length, { timeout: 60_000, interval: 10 }).toBe(1);
  const id = hook.received[0]?.id as string;
  // Settled: the wait of 5 s has begun.
  await expect.poll(async () => (await dueOf(id))?.ended, { timeout: 60_000 }).toBe(1);
  await kill(first);
  const second = await service(dir);
  await expect.poll(async () => (await dueOf(id))?.ended, { timeout: 60_000 }).toBe(2);
  const [before, after] = hook.received as [{ id: string; at_ms: number }, { id: string; at_ms: number }];
  expect(after.at_ms - before.at_ms).toBeGreaterThan(4_900);
  // In the wait of 25 s.
  const due = await dueOf(id);
  await kill(second);
  const third = await service(dir);
  await third.client.listFailedDeliveries();
  expect(await dueOf(id)).toEqual(due);
  expect(hook.received).toHaveLength(2);
  await passTime(id);
  await expect.poll(() => statusOf(id), { timeout: 60_000 }).toEqual({ status: "failed", attempts: 3 });
  expect(hook.received.map((each) => each.id)).toEqual([id, id, id]);
  // Asked for by hand, and killed at once: the new delivery survives too.
  const delivery = await third.client.retryDelivery(id);
  await kill(third);
  const last = await node();
  await passTime(delivery.delivery_id);
  await expect
    .poll(() => hook.received.some((each) => each.id === delivery.delivery_id), { timeout: 60_000, interval: 50 })
    .toBe(true);
  expect(hook.received.filter((each) => each.id === id)).toHaveLength(3);
  await last.client.deleteWebhook(webhook.id);
  await last.stop();
});

/** Within a transaction PostgreSQL shows the sessions of its first look again and again. */
const seenAnew = (client: { query(text: string): Promise<unknown> }) => client.query("select pg_stat_clear_snapshot()");

test("killed between an attempt and its settling, the delivery is made again under the same id and told apart in its record", async () => {
  const dir = await folder();
  let answer: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const hook = await receiver(() => (hook.received.length === 1 ? answered.then(() => 200) : 200));
  const first = await service(dir);
  const webhook = await first.client.registerWebhook({ url: hook.url });
  await first.client.submitIntent({ intent });
  await expect.poll(() => hook.received.length, { timeout: 60_000, interval: 10 }).toBe(1);
  const id = hook.received[0]?.id as string;
  // Settling needs the organization's head: held here, it waits, and its node dies with its session.
  const holder = await openClient(database.connection, "test of a crash");
  onTestFinished(() => holder.end());
  await holder.query("begin; set local app.org = '*'; select from org_heads for update");
  answer();
  // Of this file's database only: other files have theirs on the same server.
  const waiting = async () => {
    await seenAnew(holder);
    const { rows } = await holder.query(
      `select pid from pg_locks join pg_stat_activity using (pid)
       where not granted and datname = current_database() and pid <> pg_backend_pid()`,
    );
    return rows;
  };
  await expect.poll(async () => (await waiting()).length, { timeout: 60_000 }).toBeGreaterThan(0);
  first.process.kill("SIGKILL");
  await first.finished;
  for (const { pid } of await waiting()) await holder.query("select pg_terminate_backend($1)", [pid]);
  await expect.poll(async () => (await waiting()).length, { timeout: 60_000 }).toBe(0);
  await holder.query("rollback");
  expect(await statusOf(id)).toEqual({ status: "pending", attempts: 1 });
  const second = await node();
  await passTime(id);
  await expect.poll(() => statusOf(id), { timeout: 60_000 }).toEqual({ status: "delivered", attempts: 2 });
  expect(hook.received.map((each) => each.id)).toEqual([id, id]);
  const [record] = await database.db.query<{ errors: (string | null)[] }>(
    "select array(select o ->> 'error' from json_array_elements(outcomes) o) as errors from deliveries where delivery_id = $1",
    [id],
  );
  expect(record?.errors).toEqual([expect.stringContaining("The service stopped during this attempt"), null]);
  await second.client.deleteWebhook(webhook.id);
  await second.stop();
});

test("killed between the answer to an intent and its dispatch, the event is delivered by the next process", async () => {
  const dir = await folder();
  const hook = await receiver(() => 200);
  const holder = await openClient(database.connection, "test of a crash");
  onTestFinished(() => holder.end());
  const sessions = async (): Promise<number[]> => {
    await seenAnew(holder);
    const { rows } = await holder.query(
      "select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend'",
    );
    return rows.map(({ pid }) => pid);
  };
  const others = await sessions();
  const first = await service(dir);
  const webhook = await first.client.registerWebhook({ url: hook.url });
  // Dispatching needs the deliveries: held here, it waits, and its node dies with its sessions.
  await holder.query("begin; set local app.org = '*'; lock table deliveries in exclusive mode");
  const { intent_id } = await first.client.submitIntent({ intent });
  await kill(first);
  const left_behind = async () => (await sessions()).filter((pid) => !others.includes(pid));
  for (const pid of await left_behind()) await holder.query("select pg_terminate_backend($1)", [pid]);
  await expect.poll(left_behind, { timeout: 60_000 }).toEqual([]);
  // Not dispatched: then it would be gone.
  expect(await database.db.query("select from events where intent_id = $1", [intent_id])).toHaveLength(1);
  await holder.query("rollback");
  const second = await node();
  await expect.poll(() => hook.received.length, { timeout: 60_000, interval: 10 }).toBe(1);
  const id = hook.received[0]?.id as string;
  await expect.poll(() => statusOf(id), { timeout: 60_000 }).toEqual({ status: "delivered", attempts: 1 });
  await second.client.deleteWebhook(webhook.id);
  await second.stop();
});

test("`countersign webhooks listen` registers itself, prints genuine deliveries, refuses others, and leaves no webhook behind", async () => {
  const running = await node();
  const listener = beginCli(["webhooks", "listen", "--url", running.url]);
  const [, address] = await listener.printed(/listening on (\S+);/);
  const { intent_id } = await running.client.submitIntent({ intent });
  await listener.printed(new RegExp(`"intent_id":"${intent_id}"`));
  const forged = await fetch(address as string, {
    method: "POST",
    headers: { "X-Service-Delivery": "dlv_1", "X-Service-Signature": `sha256=${"0".repeat(64)}` },
    body: "{}",
  });
  expect(forged.status).toBe(400);
  await listener.printed(/refused: the signature does not fit/);
  listener.interrupt("SIGINT");
  expect((await listener.finished).code).toBe(0);
  expect((await running.client.listWebhooks()).webhooks).toEqual([]);
  await running.stop();
});

test("`countersign webhooks listen` prints no character of an event that controls, hides or reorders, and loses none", async () => {
  const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
  const listener = beginCli(["webhooks", "listen", "--secret", secret]);
  const [, address = ""] = await listener.printed(/listening on (\S+);/);
  const summary = "pay\u009b2J\u202elap\u{e0041}";
  const body = JSON.stringify({ data: { summary }, event_type: "escalation.decided" });
  const { deliveryHeaders } = await import("@countersign/core");
  const delivery = { delivery_id: "dlv_1", event_type: "escalation.decided", body, manual_retry: false };
  const headers = deliveryHeaders(delivery, secret, 1);
  expect((await fetch(address, { method: "POST", headers, body })).status).toBe(200);
  const [line = ""] = await listener.printed(/^.*dlv_1.*$/m);
  expect(line).toContain('"pay\\u009b2J\\u202elap\\udb40\\udc41"');
  expect(JSON.parse(line).event.data).toEqual({ summary });
  listener.interrupt("SIGINT");
  await listener.finished;
});

test("`countersign webhooks listen` ends with whoever reads what it prints", async () => {
  const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
  const listener = startCli(["webhooks", "listen", "--secret", secret]);
  onTestFinished(() => void listener.process.kill("SIGKILL"));
  const [, address = ""] = await listener.printed(/listening on (\S+);/);
  listener.process.stdout?.destroy();
  const { deliveryHeaders } = await import("@countersign/core");
  const body = JSON.stringify({ data: {}, event_type: "escalation.decided" });
  const delivery = { delivery_id: "dlv_1", event_type: "escalation.decided", body, manual_retry: false };
  await fetch(address, { method: "POST", headers: deliveryHeaders(delivery, secret, 1), body }).catch(() => undefined);
  expect((await listener.finished).code).toBe(1);
});

test("the example receiver takes a genuine delivery once, refuses a forged one, and outlives work that fails", async () => {
  const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
  const { PATH = "" } = process.env;
  const failing = `const { log } = console; console.log = (line) => { log(line); if (line.startsWith("dlv_1")) throw new Error("no room"); }`;
  const args = [
    "--conditions=@countersign/source",
    `--import=${import.meta.resolve("tsx")}`,
    `--import=data:text/javascript,${encodeURIComponent(failing)}`,
    "examples/webhook-receiver/receiver.mjs",
  ];
  const child = spawn(process.execPath, args, {
    env: { PATH, PORT: "0", WEBHOOK_SECRET: secret },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
  await expect.poll(() => /port (\d+)/.exec(printed)?.[1], { timeout: 60_000 }).toBeDefined();
  const { deliveryHeaders } = await import("@countersign/core");
  const body = '{"event_type":"quota.exceeded","intent_id":null}';
  const post = (signed_with: string, delivery_id = "dlv_1") => {
    const delivery = { delivery_id, event_type: "quota.exceeded", body, manual_retry: false };
    return fetch(`http://127.0.0.1:${/port (\d+)/.exec(printed)?.[1]}`, {
      method: "POST",
      headers: deliveryHeaders(delivery, signed_with, 1),
      body,
    });
  };
  expect([(await post(secret)).status, (await post("whsec_other")).status]).toEqual([204, 400]);
  expect([(await post(secret)).status, (await post(secret, "dlv_2")).status]).toEqual([204, 204]);
  await expect.poll(() => printed.match(/dlv_2 quota\.exceeded/g)?.length).toBe(1);
  await expect.poll(() => printed.match(/dlv_1 quota\.exceeded/g)?.length).toBe(1);
});
