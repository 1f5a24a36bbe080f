import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startCli } from "../../packages/cli/src/testing/start-cli.ts";

test("a newcomer who follows the tutorial gets from an empty folder to a review and an override", async () => {
  const folder = await mkdtemp(join(tmpdir(), "countersign-tutorial-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const began_ms = performance.now();
  const service = startCli(["serve"], { HOST: "127.0.0.1", PORT: "0", COUNTERSIGN_DATA_DIR: join(folder, "data") });
  onTestFinished(async () => {
    service.process.kill("SIGTERM");
    await service.finished;
  });
  const [, url = ""] = await service.printed(/listening on (http:\/\/[\d.:]+)/);

  const page = await readFile(new URL("../../docs/tutorial/first-agent.md", import.meta.url), "utf8");
  const blocks = Array.from(page.matchAll(/^```sh\n([\s\S]*?)^```$/gm), ([, block]) => block);
  expect(blocks).toHaveLength(8);
  const script = blocks.join("").replaceAll("http://127.0.0.1:8080", url);
  const { code, printed } = await runScript(script, folder);
  expect(code, printed).toBe(0);
  expect(printed).toContain("account.sufficient-balance");
  console.info(`the tutorial took ${((performance.now() - began_ms) / 1000).toFixed(1)} s, without reading it`);
});

function runScript(script: string, cwd: string): Promise<{ code: number | null; printed: string }> {
  return new Promise((resolve, reject) => {
    const shell = spawn("bash", ["-euo", "pipefail", "-x", "-c", script], { cwd });
    let printed = "";
    const keep = (chunk: Buffer): void => {
      printed += chunk.toString();
    };
    shell.stdout.on("data", keep);
    shell.stderr.on("data", keep);
    shell.once("error", reject).once("close", (code) => resolve({ code, printed }));
  });
}
