/** SIGTERM while the service is still starting. Source: api.md §1. */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startCli } from "../packages/cli/src/testing/run-cli.ts";

test("SIGTERM during the start stops the embedded database and ends with 0, and the directory can be used again", {
  timeout: 180_000,
}, async () => {
  const dir = await mkdtemp(join(tmpdir(), "end-during-start-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  const start = () => {
    const running = startCli(["serve"], { PORT: "0", HOST: "127.0.0.1", COUNTERSIGN_DATA_DIR: dir });
    onTestFinished(() => void running.process.kill("SIGKILL"));
    return running;
  };
  const first = start();
  await first.printed(/embedded database ready/);
  first.process.kill("SIGTERM");
  expect((await first.finished).code).toBe(0);

  const second = start();
  await second.printed(/listening on http/);
  second.process.kill("SIGTERM");
  expect((await second.finished).code).toBe(0);
  expect(existsSync(join(dir, "postgres", "db", "postmaster.pid"))).toBe(false);
});
