/** Runs for every test file. Test files share modules, so a module's own hook would run for the first file only. */
import { afterAll, beforeAll, expect, vi } from "vitest";
import { cleanUp } from "../packages/server/src/testing/when-file-is-done.ts";

const listening = () => process.getActiveResourcesInfo().filter((kind) => kind === "TCPServerWrap").length;
let before = 0;

beforeAll(() => {
  before = listening();
});

afterAll(async () => {
  await cleanUp();
  // A running node would disturb the next files: their fake clocks move its timers, and it shares their cores.
  const isGone = () => expect(listening(), "servers still listening after this file").toBeLessThanOrEqual(before);
  await vi.waitFor(isGone, { timeout: 60_000 });
});
