import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { networkList } from "@countersign/core";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { ConnectionOptions } from "../../store/database/connection.ts";
import { openClient } from "../../store/database/connection.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { builtThread } from "../../testing/nodes/built-thread.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";
import { quick_terms, webhookOrganization } from "../../testing/nodes/webhook-node.ts";
import { createHttpOut } from "../outgoing/http-out.ts";
import { timers } from "../timers.ts";
import { type DeliveryThreadData, startDeliveryThread } from "./delivery-thread-host.ts";
import { newRequestCount } from "./give-way.ts";
import type { ThreadProgram } from "./thread-program.ts";

vi.setConfig({ testTimeout: 120_000 });

const database = await testDatabase();
const patience = { timeout: 60_000, interval: 20 };
const keys = { master_key: Buffer.alloc(32, 7), other_master_keys: [] };
const allow_cidrs = ["127.0.0.0/8"];

const built = builtThread("delivery-thread");

function remembering() {
  const lines: { level: string; fields: object; message: string }[] = [];
  const write = (level: string) => (fields: object, message: string) => void lines.push({ level, fields, message });
  return { lines, log: { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") } };
}

async function threadedNode(data: Partial<DeliveryThreadData> = {}) {
  const { lines, log } = remembering();
  const counted: string[] = [];
  const rules = { allow_http: true, allow_networks: networkList(allow_cidrs) };
  const node = await serviceNode(database, {
    httpOut: createHttpOut({ rules }),
    deliveries: (runtime, requests) =>
      startDeliveryThread(
        {
          ...{ connection: database.connection, requests, allow_http: true, allow_cidrs, ...keys },
          ...{ terms: quick_terms, ...data },
        },
        { log, timers: runtime.timers, metrics: { attempted: (status) => void counted.push(status) } },
        built,
      ),
  });
  return { ...node, lines, counted };
}

function noDatabase(): ConnectionOptions {
  const { connection } = database;
  if (!("connectionString" in connection)) return { ...connection, database: "nothing" };
  const url = new URL(connection.connectionString);
  url.pathname = "/nothing";
  return { connectionString: url.href };
}

/** Plain HTTP, because the thread does not know the test's certificate authority. */
async function receiver(status: () => number = () => 204) {
  const received: string[] = [];
  const held: (() => void)[] = [];
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      received.push(String(request.headers["x-service-delivery"]));
      const code = status();
      if (code === 0) held.push(() => response.end());
      else response.writeHead(code).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { received, held, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

describe("one thread", async () => {
  const node = await threadedNode();
  const org = await webhookOrganization(database, node.url);

  test("delivers, counts every attempt, fails with the reason, and starts a manual retry at once", async () => {
    let takes = false;
    const { received, url } = await receiver(() => (takes ? 204 : 500));
    const { id } = await org.register(url);
    await org.submit();
    await expect.poll(() => node.counted, patience).toEqual(["pending", "pending", "failed"]);
    const [failed] = await org.failed();
    expect(failed).toMatchObject({ response_status: 500, attempts: [{ number: 1 }, { number: 2 }, { number: 3 }] });
    takes = true;
    const { json } = await org.api("POST", `/deliveries/${failed.delivery_id}/retry`);
    await expect.poll(() => node.counted, patience).toEqual(["pending", "pending", "failed", "delivered"]);
    expect(received).toEqual([...Array(3).fill(failed.delivery_id), json.delivery.delivery_id]);
    await org.api("DELETE", `/${id}`);
    expect(node.lines).toEqual([]);
  });

  test("logs when the database ends its idle sessions, and continues", async () => {
    const lost = () => node.lines.filter(({ message }) => message === "idle database session lost");
    // The role of the service's sessions does not see whether others are idle.
    const owner = await openClient(database.connection, "countersign test");
    await expect
      .poll(async () => {
        await owner.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and application_name = 'countersign' and state = 'idle'`,
        );
        return lost().length;
      }, patience)
      .toBeGreaterThan(0);
    await owner.end();
    expect(lost()[0]).toMatchObject({
      level: "warn",
      fields: { err: { code: expect.stringMatching(/^(57P01|EPIPE|ECONNRESET)$/) } },
    });
  });

  test("finishes and settles the running attempt when it is stopped", async () => {
    node.counted.length = 0;
    const { received, held, url } = await receiver(() => 0);
    await org.register(url);
    await org.submit();
    await expect.poll(() => received.length, patience).toBe(1);
    const closed = node.close();
    held[0]?.();
    await closed;
    expect((await org.deliveries()).at(-1)).toMatchObject({ status: "delivered" });
    expect(node.counted).toEqual(["delivered"]);
    expect(node.lines.filter(({ message }) => message.startsWith("the thread of deliveries"))).toEqual([]);
  });
});

test("logs an internal error with its code", async () => {
  const { lines, log } = remembering();
  const data = { connection: noDatabase(), requests: newRequestCount(), allow_http: true, allow_cidrs, ...keys };
  const thread = startDeliveryThread(data, { log, timers, metrics: { attempted: () => undefined } }, built);
  const failures = () => lines.filter(({ message }) => message === "looking for deliveries failed");
  await expect.poll(() => failures().length, patience).toBeGreaterThan(0);
  expect(failures()[0]).toMatchObject({ level: "error", fields: { err: { code: "3D000" } } });
  await thread.stop();
});

test("logs why the thread ended, even if the error itself cannot be sent", async () => {
  const error = { type: "Error", message: "no clone", stack: "at x" };
  const source = `import { parentPort } from "node:worker_threads";
    parentPort.postMessage(${JSON.stringify({ kind: "failed", error })});
    throw new DOMException("no clone", "DataCloneError");`;
  const { lines, log } = remembering();
  const timers = { after: () => () => undefined };
  const data = { connection: database.connection, requests: newRequestCount(), allow_http: true, allow_cidrs, ...keys };
  const program = { url: new URL(`data:text/javascript,${encodeURIComponent(source)}`), execArgv: [] };
  const thread = startDeliveryThread(data, { log, timers, metrics: { attempted: () => undefined } }, program);
  await expect.poll(() => lines.map(({ fields }) => fields), patience).toEqual([{ err: error }, { code: 1 }]);
  await thread.stop();
});

test("a dead thread is replaced, each time after a second, until the node stops", async () => {
  const dying: ThreadProgram = {
    url: new URL("data:text/javascript,throw new Error('the thread dies')"),
    execArgv: [],
  };
  const { lines, log } = remembering();
  const begun: number[] = [];
  let again: (() => void) | undefined;
  const timers = {
    after(wait_ms: number, run: () => void) {
      begun.push(wait_ms);
      again = run;
      return () => {
        again = undefined;
      };
    },
  };
  const data = { connection: database.connection, requests: newRequestCount(), allow_http: true, allow_cidrs, ...keys };
  const thread = startDeliveryThread(data, { log, timers, metrics: { attempted: () => undefined } }, dying);
  for (let deaths = 1; deaths <= 3; deaths += 1) {
    await expect.poll(() => begun.length, patience).toBe(deaths);
    thread.wake("org_1");
    again?.();
  }
  await expect.poll(() => begun.length, patience).toBe(4);
  expect(begun).toEqual([1_000, 1_000, 1_000, 1_000]);
  expect(
    lines.filter(({ fields }) => String((fields as { err?: Error }).err).includes("the thread dies")),
  ).toHaveLength(4);
  await thread.stop();
  expect(again).toBeUndefined();
});

test("starting a thread is retried each second, until the node stops", async () => {
  // Node's constructor throws for these arguments, as it does when the system has no thread.
  const refused = { url: new URL("data:text/javascript,"), execArgv: ["--no-such-flag"] };
  const { lines, log } = remembering();
  const due = new Map<() => void, number>();
  const timers = {
    after(wait_ms: number, run: () => void) {
      due.set(run, wait_ms);
      return () => void due.delete(run);
    },
  };
  const data = { connection: database.connection, requests: newRequestCount(), allow_http: true, allow_cidrs, ...keys };
  const thread = startDeliveryThread(data, { log, timers, metrics: { attempted: () => undefined } }, refused);
  for (let tries = 1; tries <= 3; tries += 1) {
    expect(lines.map(({ message }) => message)).toEqual(
      Array(tries).fill("the thread of deliveries could not be started; it is retried"),
    );
    const [[again, wait_ms] = []] = due;
    expect(wait_ms).toBe(1_000);
    due.clear();
    again?.();
  }
  await thread.stop();
  expect(due.size).toBe(0);
});
