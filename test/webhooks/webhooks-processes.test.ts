import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { networkList } from "@countersign/core";
import { createClient } from "@countersign/sdk";
import { expect, onTestFinished, test } from "vitest";
import { beginCli, failingOutput } from "../../packages/cli/src/testing/run-cli.ts";
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

/** Shared by all services of this file, so that one opens what another sealed. */
const master_key = Buffer.alloc(32, 7);

/** Starts a process that the test will kill. It may call receivers on this machine. */
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

/** Same as `service`, but in the test's process and never killed. */
async function node() {
  const rules = { allow_http: true, allow_networks: networkList(["127.0.0.0/8"]) };
  const httpOut = createHttpOut({ rules });
  const { url, close } = await serviceNode(database, { httpOut, sealer: createSealer(master_key) });
  const stop = () => close().then(() => httpOut.close());
  onTestFinished(stop);
  return { url, client: createClient({ base_url: url }), stop };
}

const kill = async (running: Awaited<ReturnType<typeof service>>) => {
  running.process.kill("SIGKILL");
  await running.finished;
};

async function receiver(answer: (number: number) => number | "hold" | Promise<number>) {
  const received: string[] = [];
  const server = createServer((request, response) => {
    request.resume().on("end", async () => {
      const status = await answer(received.push(String(request.headers["x-service-delivery"])));
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

const stateOf = async (delivery_id = "") => {
  const rows = await database.db.query<{ status: string; attempts: number; ended: number; wait_s: number }>(
    `select status, attempts, json_array_length(outcomes) as ended,
       extract(epoch from due_at - created_at)::float8 as wait_s
     from deliveries where delivery_id = $1`,
    [delivery_id],
  );
  return rows[0];
};

/** Delays these deliveries by an hour, longer than any slow machine needs. */
const postpone = (...delivery_ids: string[]) =>
  database.db.query(
    "update deliveries set due_at = clock_timestamp() + interval '1 hour' where delivery_id = any($1)",
    [delivery_ids],
  );

const passTime = (...delivery_ids: (string | undefined)[]) =>
  database.db.query(
    "update deliveries set due_at = clock_timestamp() where delivery_id = any($1) and status = 'pending'",
    [delivery_ids],
  );

/** Blocks all other sessions from writing deliveries until `release`. */
async function holdDeliveries() {
  const holder = await openClient(database.connection, "test of a crash");
  onTestFinished(() => holder.end());
  await holder.query("begin; set local app.org = '*'; lock table deliveries in exclusive mode");
  return {
    query: (text: string, values: unknown[] = []) => holder.query(text, values),
    release: () => holder.query("rollback"),
  };
}

const sessions = async () => {
  const rows = await database.db.query<{ pid: number; query: string }>(
    `select pid, query from pg_stat_activity where datname = current_database() and backend_type = 'client backend'
     and pid <> pg_backend_pid()`,
  );
  return rows;
};

test("a killed service loses no delivery: another node resumes each on time, under the same id", async () => {
  let settle: (status: number) => void = () => undefined;
  const settled = new Promise<number>((resolve) => {
    settle = resolve;
  });
  const held = await receiver((number) => (number === 1 ? "hold" : 200));
  const answered = await receiver((number) => (number === 1 ? settled : 200));
  const failed_once = await receiver((number) => (number === 1 ? 500 : 200));
  const failing = await receiver(() => 500);
  const retried = await receiver((number) => (number < 4 ? 500 : number === 4 ? "hold" : 200));
  const hooks = [held, answered, failed_once, failing, retried];
  const idOf = ({ received: [id = ""] }: (typeof hooks)[0]) => id;
  const first = await service(await folder());
  for (const { url } of hooks) await first.client.registerWebhook({ url });
  await first.client.submitIntent({ intent });
  await expect.poll(() => hooks.map(({ received }) => received.length), { interval: 10 }).toEqual([1, 1, 1, 1, 1]);
  const endedIs = (hook: (typeof hooks)[0], attempts: number) =>
    expect.poll(async () => (await stateOf(idOf(hook)))?.ended, { interval: 20 }).toBe(attempts);

  // Waits after attempts are 5 s and 25 s. The third failure is final, and a manual retry is a new delivery.
  const failures = [failed_once, failing, retried];
  for (const hook of failures) await endedIs(hook, 1);
  expect((await stateOf(idOf(failed_once)))?.wait_s).toBeGreaterThan(4.9);
  await postpone(...failures.map(idOf));
  for (const hook of [failing, retried]) {
    await passTime(idOf(hook));
    await endedIs(hook, 2);
    expect((await stateOf(idOf(hook)))?.wait_s).toBeGreaterThan(24.9);
  }
  await passTime(idOf(retried));
  await endedIs(retried, 3);
  expect(await stateOf(idOf(retried))).toMatchObject({ status: "failed", attempts: 3 });
  const { delivery_id: retry } = await first.client.retryDelivery(idOf(retried));
  await expect.poll(() => retried.received.at(-1), { interval: 20 }).toBe(retry);

  // From here on the node can neither settle attempts nor dispatch events.
  const pending = [...[held, answered, failed_once, failing].map(idOf), retry];
  await postpone(...pending);
  const states = async () => {
    const all = [];
    for (const id of pending) all.push(await stateOf(id));
    return all;
  };
  const before = await states();
  const deliveries = await holdDeliveries();
  settle(200);
  await expect
    .poll(async () => (await sessions()).filter(({ query }) => query.includes("as s(delivery_id, attempts, status")))
    .toHaveLength(1);
  const { intent_id } = await first.client.submitIntent({ intent });
  await kill(first);
  const left_behind = async () =>
    (await sessions()).filter(({ query }) => /\bdeliveries\b/.test(query) && !query.includes("lock table"));
  for (const { pid } of await left_behind()) await deliveries.query("select pg_terminate_backend($1)", [pid]);
  await expect.poll(left_behind).toEqual([]);
  // Dispatching would have deleted the event.
  expect(await database.db.query("select from events where intent_id = $1", [intent_id])).toHaveLength(1);
  await deliveries.release();

  // The other node dispatches the remaining event and leaves deliveries that are not due.
  const second = await node();
  const later = (hook: (typeof hooks)[0]) => hook.received.filter((id) => ![...pending, idOf(hook)].includes(id));
  await expect.poll(() => hooks.slice(0, 3).map((hook) => later(hook).length)).toEqual([1, 1, 1]);
  expect(await states()).toEqual(before);
  expect(before.map((state) => [state?.status, state?.attempts])).toEqual([
    ...[1, 1, 1, 2, 1].map((attempts) => ["pending", attempts]),
  ]);

  await passTime(...pending);
  const [delivered, failed] = ["delivered", "failed"];
  await expect
    .poll(async () => (await states()).map((state) => [state?.status, state?.attempts]))
    .toEqual([
      [delivered, 2],
      [delivered, 2],
      [delivered, 2],
      [failed, 3],
      [delivered, 2],
    ]);
  for (const [hook, id, times] of [
    [held, idOf(held), 2],
    [answered, idOf(answered), 2],
    [failed_once, idOf(failed_once), 2],
    [failing, idOf(failing), 3],
    [retried, idOf(retried), 3],
    [retried, retry, 2],
  ] as const)
    expect(hook.received.filter((each) => each === id)).toHaveLength(times);
  const [record] = await database.db.query<{ errors: (string | null)[] }>(
    "select array(select o ->> 'error' from json_array_elements(outcomes) o) as errors from deliveries where delivery_id = $1",
    [idOf(answered)],
  );
  expect(record?.errors).toEqual([expect.stringContaining("The service stopped during this attempt"), null]);
  for (const { id } of (await second.client.listWebhooks()).webhooks) await second.client.deleteWebhook(id);
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
  await listener.printed(/refused: the signature does not match/);
  listener.interrupt("SIGINT");
  expect((await listener.finished).code).toBe(0);
  expect((await running.client.listWebhooks()).webhooks).toEqual([]);
  await running.stop();
});

test("`countersign webhooks listen` escapes control, hidden and reordering characters of events, and loses none", async () => {
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

test("`countersign webhooks listen` ends with the reader of its output", async () => {
  const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
  const gone = Object.assign(new Error("write EPIPE"), { code: "EPIPE", syscall: "write" });
  const listener = beginCli(["webhooks", "listen", "--secret", secret], {}, failingOutput(gone));
  const [, address = ""] = await listener.printed(/listening on (\S+);/);
  const { deliveryHeaders } = await import("@countersign/core");
  const body = JSON.stringify({ data: {}, event_type: "escalation.decided" });
  const delivery = { delivery_id: "dlv_1", event_type: "escalation.decided", body, manual_retry: false };
  await fetch(address, { method: "POST", headers: deliveryHeaders(delivery, secret, 1), body }).catch(() => undefined);
  expect((await listener.finished).code).toBe(1);
});

test("the example receiver accepts a genuine delivery once, refuses a forged one, and survives failed work", async () => {
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
