/** Source: docs/how-to/scale.md. */

import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { type RunningCli, startCli } from "../../packages/cli/src/testing/start-cli.ts";

const directory = await mkdtemp(join(tmpdir(), "workers-"));
const settings = {
  COUNTERSIGN_DATA_DIR: join(directory, "data"),
  COUNTERSIGN_WORKERS: "2",
  COUNTERSIGN_RATE_LIMITS: "intents=30,general=100000",
  HOST: "127.0.0.1",
  PORT: "0",
};
const patience = { timeout: 60_000, interval: 50 };

let running: RunningCli;
let url = "";
let key = "";
beforeAll(async () => {
  running = startCli(["serve"], settings);
  url = (await running.printed(/^listening on (http:\/\/\S+)$/m))[1] ?? "";
  key = (await runCli(["keys", "create", "--role", "admin", "--name", "first"], settings)).stdout.trim();
}, 120_000);
afterAll(async () => {
  running.process.kill("SIGKILL");
  await running.finished;
  await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

/** Returns the status of a request on a new connection, which any worker may get. 0: no answer. */
function ask(path: string, body?: object): Promise<number> {
  return new Promise((resolve) => {
    const headers = { "X-API-Key": key, "Content-Type": "application/json", Connection: "close" };
    const asked = request(url + path, { method: body === undefined ? "GET" : "POST", headers, agent: false });
    asked.on("response", (answer) => answer.resume().on("end", () => resolve(answer.statusCode ?? 0)));
    asked.on("error", () => resolve(0));
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** The children that run the same program. The database is a different one. */
async function workers(): Promise<number[]> {
  const { pid } = running.process;
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).trim().split(" ").map(Number);
  const programs = await Promise.all(children.map((child) => readFile(`/proc/${child}/cmdline`, "utf8")));
  return children.filter((_, at) => programs[at]?.includes("\0serve"));
}

test("they share one rate count and one set of metrics", async () => {
  expect(await workers()).toHaveLength(2);
  const intent = { agent: { id: "a" }, action: { verb: "look" } };
  const statuses = await Promise.all(Array.from({ length: 40 }, () => ask("/v1/intents", { intent })));
  expect(statuses.filter((status) => status === 201)).toHaveLength(30);
  expect(statuses.filter((status) => status === 429)).toHaveLength(10);
  const text = await (await fetch(`${url}/metrics`)).text();
  const counted = [...text.matchAll(/^countersign_http_requests_total\{[^}]*submitIntent[^}]*\} (\d+)$/gm)];
  expect(counted.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(40);
});

test("a killed worker is replaced, while the other one serves", async () => {
  const [killed = 0, other = 0] = await workers();
  process.kill(killed, "SIGKILL");
  await running.printed(/a worker ended; another one starts/);
  // A connection already assigned to the killed worker is lost.
  await expect.poll(() => ask("/healthz"), patience).toBe(200);
  await expect.poll(async () => (await workers()).filter((pid) => pid !== killed), patience).toHaveLength(2);
  expect(await workers()).toContain(other);
});

test("SIGUSR2 replaces all of them, and no request fails", async () => {
  const former = await workers();
  let goes = true;
  const statuses: number[] = [];
  const asking = (async () => {
    while (goes) statuses.push(await ask("/v1/api-keys"));
  })();
  running.process.kill("SIGUSR2");
  await running.printed(/all workers were replaced/);
  goes = false;
  await asking;
  expect(statuses.length).toBeGreaterThan(0);
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
  const now = await workers();
  expect(now).toHaveLength(2);
  expect(now.filter((pid) => former.includes(pid))).toEqual([]);
});

test("they end when the process that started them is killed", async () => {
  const left = await workers();
  running.process.kill("SIGKILL");
  await running.finished;
  await expect.poll(() => left.filter((pid) => existsSync(`/proc/${pid}`)), patience).toEqual([]);
});

test("a refused start says why once, and leaves no process", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const { code, stderr } = await startCli(["serve"], { ...settings, PORT: String(port) }).finished;
  server.close();
  expect(code).toBe(1);
  expect(stderr).toContain("another program listens on");
});

test("SIGTERM while they are being replaced ends the service with 0", async () => {
  const again = startCli(["serve"], settings);
  await again.printed(/^listening on/m);
  again.process.kill("SIGUSR2");
  again.process.kill("SIGTERM");
  expect((await again.finished).code).toBe(0);
});

test("SIGTERM to all of them, as a terminal sends it, ends the service with 0", async () => {
  const again = startCli(["serve"], settings);
  await again.printed(/^listening on/m);
  running = again;
  for (const pid of await workers()) process.kill(pid, "SIGTERM");
  again.process.kill("SIGTERM");
  expect((await again.finished).code).toBe(0);
});
