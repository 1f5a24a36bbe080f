/** SIGTERM while the service is still starting. Source: api.md §1. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startCli } from "../packages/cli/src/testing/run-cli.ts";

test("SIGTERM during the start does not cut the process off: it finishes the start and then ends by itself", {
  timeout: 180_000,
}, async () => {
  const dir = await mkdtemp(join(tmpdir(), "end-during-start-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  const running = startCli(["serve"], { PORT: "0", HOST: "127.0.0.1", COUNTERSIGN_DATA_DIR: dir });
  onTestFinished(() => void running.process.kill("SIGKILL"));
  await running.printed(/embedded database ready/);
  running.process.kill("SIGTERM");
  const { code, stdout } = await running.finished;
  // Null: the signal ended it. Not asked for 0, which a starved machine turns into 1 ("not done after 10 s").
  expect(code).not.toBeNull();
  expect(stdout).toMatch(/listening on http/);
});
