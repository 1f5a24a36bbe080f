/** Run for every test file. Files share their modules, so a hook at the top of a module would be that of the first file alone. */
import { afterAll, beforeAll, expect, vi } from "vitest";
import { cleanUp } from "../packages/server/src/testing/when-file-is-done.ts";

const listening = () => process.getActiveResourcesInfo().filter((kind) => kind === "TCPServerWrap").length;
let before = 0;

beforeAll(() => {
  before = listening();
});

afterAll(async () => {
  await cleanUp();
  // A node that is left behind goes on beside the files that follow: its timers run by their fake clocks, and they share its cores.
  const isGone = () => expect(listening(), "servers still listening after this file").toBeLessThanOrEqual(before);
  await vi.waitFor(isGone, { timeout: 60_000 });
});
