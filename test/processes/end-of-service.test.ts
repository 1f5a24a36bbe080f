import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { startCli } from "../../packages/cli/src/testing/start-cli.ts";
import { masterKeyId } from "../../packages/server/src/edge/start/sealer.ts";

const directory = await mkdtemp(join(tmpdir(), "end-of-service-"));
afterAll(() => rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
const data_dir = join(directory, "data");
const receivers = { COUNTERSIGN_WEBHOOK_ALLOW_HTTP: "true", COUNTERSIGN_WEBHOOK_ALLOW_CIDRS: "127.0.0.0/8" };
const settings = { COUNTERSIGN_DATA_DIR: data_dir, HOST: "127.0.0.1", PORT: "0", ...receivers };
const cli = (...args: string[]) => runCli(args, settings);

function serve() {
  const running = startCli(["serve"], settings);
  onTestFinished(() => void running.process.kill("SIGKILL"));
  return running;
}

async function serving() {
  const running = serve();
  return { ...running, url: (await running.printed(/^listening on (http:\/\/\S+)$/m))[1] ?? "" };
}

test("a terminal closed during the first start does not interrupt it: the process finishes the start, then ends", async () => {
  const running = serve();
  await running.printed(/embedded database ready/);
  // Both the closing shell and the system send the signal.
  for (let time = 0; time < 2; time += 1) running.process.kill("SIGHUP");
  const { code, stdout } = await running.finished;
  // Null would mean that the signal killed it. A busy machine may exit with 1 ("not done after 10 s").
  expect(code).not.toBeNull();
  expect(stdout).toMatch(/listening on http/);
});

test("SIGTERM and Ctrl-C end it with 0; decisions, and secrets under a replaced key file, survive the next start", {
  timeout: 300_000,
}, async () => {
  const created = await cli("keys", "create", "--role", "admin", "--name", "first");
  expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^svc_live_org_[0-9A-Za-z]{38}\n$/) });
  const headers = { "x-api-key": created.stdout.trim(), "content-type": "application/json" };
  const post = async (url: string, body: object) =>
    (await (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).json()) as { intent_id: string };
  const keyOf = async (name: string) => (await readFile(join(data_dir, name), "utf8")).trim();

  const first = await serving();
  const { intent_id } = await post(`${first.url}/v1/intents`, {
    intent: { agent: { id: "a" }, action: { verb: "look" } },
  });
  await post(`${first.url}/v1/escalations/webhooks`, { url: "http://127.0.0.1:48080/" });
  await commandsBeside(first.url);
  // The log's first checkpoint needs the log's key, which the service seals.
  await expect.poll(async () => (await fetch(`${first.url}/v1/audit/log/checkpoint`, { headers })).status).toBe(200);
  const former = await keyOf("master.key");
  const refused = await cli("secrets", "replace-key-file");
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("stop it first") });
  expect(await keyOf("master.key")).toBe(former);
  // A signal to a process group arrives twice: directly, and forwarded by npm.
  for (let time = 0; time < 2; time += 1) first.process.kill("SIGTERM");
  expect((await first.finished).code).toBe(0);

  const replaced = await cli("secrets", "replace-key-file");
  const current = await keyOf("master.key");
  expect(replaced.code).toBe(0);
  expect(current).not.toBe(former);
  expect(await keyOf("master-others.keys")).toBe(former);
  expect(replaced.stdout).toContain(`The master key is now ${masterKeyId(Buffer.from(current, "base64"))}`);
  expect(replaced.stdout).not.toContain(former);

  const second = await serving();
  expect((await fetch(`${second.url}/v1/intents/${intent_id}`, { headers })).status).toBe(200);
  expect(await cli("secrets", "reseal")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^2 values were sealed/),
  });
  expect((await cli("secrets", "status")).stdout).toMatch(/^No stored value needs the master key /m);
  second.process.kill("SIGINT");
  expect((await second.finished).code).toBe(0);
});

async function commandsBeside(url: string): Promise<void> {
  const doctor = await runCli(["doctor"], { ...settings, PORT: new URL(url).port });
  expect(doctor.stdout).toMatch(/^ok +database +PostgreSQL \d+.* \(embedded, running\)$/m);
  expect(doctor.stdout).toMatch(/^ok +schema +migrated to /m);
  expect(doctor.stdout).toMatch(/^ok +port +Countersign is running on /m);
  expect(doctor.stdout).toMatch(/\n\nNo problems found\.\n$/);
  expect(doctor.code).toBe(0);

  const key = JSON.parse((await cli("keys", "create", "--json")).stdout);
  expect(key).toMatchObject({ org_id: "org_local", role: "agent" });
  expect((await fetch(`${url}/v1/policies`, { headers: { "x-api-key": key.api_key } })).status).not.toBe(401);

  const second = await serve().finished;
  expect(second).toMatchObject({ code: 1, stdout: "" });
  expect(second.stderr).toMatch(/^countersign: the data directory .* is in use by process \d+/m);

  const dump = join(directory, "dump.sql.gz");
  expect((await cli("export", "--out", dump)).stderr).toMatch(/^[\d,]+ rows written to /);
  expect(await cli("restore", dump)).toMatchObject({ code: 1, stderr: expect.stringContaining("in use by process") });
}
