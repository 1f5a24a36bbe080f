import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { startCli } from "../../packages/cli/src/testing/start-cli.ts";
import { databaseUrl, type TestDatabase } from "../../packages/server/src/testing/database/database.ts";

/** Starts the service as a process on this database, for a test that kills it. */
export async function serviceProcess({ connection }: TestDatabase) {
  const dir = await mkdtemp(join(tmpdir(), "service-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  const running = startCli(["serve"], {
    PORT: "0",
    HOST: "127.0.0.1",
    DATABASE_URL: databaseUrl(connection),
    COUNTERSIGN_DATA_DIR: dir,
    COUNTERSIGN_RATE_LIMITS: "intents=1000000,general=1000000,onboarding=1000000",
  });
  onTestFinished(() => void running.process.kill("SIGKILL"));
  const [url] = await running.printed(/http:\/\/127\.0\.0\.1:\d+/);
  return { url, ...running };
}
