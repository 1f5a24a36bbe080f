/** The service ends in order by a signal, also while it is still starting. Source: api.md §1. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { startCli } from "../../packages/cli/src/testing/start-cli.ts";

async function dataDirectory(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "end-of-service-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  return dir;
}

test("SIGTERM during the start does not cut the process off: it finishes the start and then ends by itself", {
  timeout: 180_000,
}, async () => {
  const COUNTERSIGN_DATA_DIR = await dataDirectory();
  const running = startCli(["serve"], { PORT: "0", HOST: "127.0.0.1", COUNTERSIGN_DATA_DIR });
  onTestFinished(() => void running.process.kill("SIGKILL"));
  await running.printed(/embedded database ready/);
  running.process.kill("SIGTERM");
  const { code, stdout } = await running.finished;
  // Null: the signal ended it. Not asked for 0, which a starved machine turns into 1 ("not done after 10 s").
  expect(code).not.toBeNull();
  expect(stdout).toMatch(/listening on http/);
});

test("SIGTERM, Ctrl-C and a closed terminal end it with 0, and what was decided is there after the next start", async () => {
  const env = { COUNTERSIGN_DATA_DIR: await dataDirectory(), PORT: "0" };
  const { stdout: api_key } = await runCli(["keys", "create", "--role", "admin"], env);
  const start = async () => {
    const running = startCli(["serve"], env);
    onTestFinished(() => void running.process.kill("SIGKILL"));
    return { ...running, url: (await running.printed(/^listening on (http:\/\/\S+)$/m))[1] };
  };
  const first = await start();
  const headers = { "x-api-key": api_key.trim(), "content-type": "application/json" };
  const body = JSON.stringify({ intent: { agent: { id: "a" }, action: { verb: "look" } } });
  const answer = await fetch(`${first.url}/v1/intents`, { method: "POST", headers, body });
  const { intent_id } = (await answer.json()) as { intent_id: string };
  first.process.kill("SIGTERM");
  expect((await first.finished).code).toBe(0);

  const second = await start();
  expect((await fetch(`${second.url}/v1/intents/${intent_id}`, { headers })).status).toBe(200);
  second.process.kill("SIGINT");
  expect((await second.finished).code).toBe(0);

  const third = await start();
  // A closed terminal's shell and the system send one each.
  for (let time = 0; time < 2; time += 1) third.process.kill("SIGHUP");
  expect((await third.finished).code).toBe(0);
});
