/** The tutorials: their commands, as a newcomer types them, against one service. */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { cliProgram, startCli } from "../../packages/cli/src/testing/start-cli.ts";
import { codeBlocks } from "./code-blocks.ts";

test("a newcomer who follows the tutorials gets to a review, an override and a policy of their own", async () => {
  const folder = await mkdtemp(join(tmpdir(), "countersign-tutorial-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const began_ms = performance.now();
  const service = startCli(["serve"], { HOST: "127.0.0.1", PORT: "0", COUNTERSIGN_DATA_DIR: join(folder, "data") });
  onTestFinished(async () => {
    service.process.kill("SIGTERM");
    await service.finished;
  });
  const [, url = ""] = await service.printed(/listening on (http:\/\/[\d.:]+)/);

  const commands = (path: string) =>
    codeBlocks().flatMap((block) => (block.path === path && block.language === "sh" ? [block.text] : []));
  const [first, second] = [commands("docs/tutorial/first-agent.md"), commands("docs/tutorial/first-policy.md")];
  expect([first.length, second.length]).toEqual([8, 2]);
  const policy = codeBlocks().find(({ path, language }) => path.endsWith("first-policy.md") && language === "yaml");
  await writeFile(join(folder, "large-refund.yaml"), policy?.text ?? "");
  // The program of this checkout, and the port of this service.
  const program = [process.execPath, ...cliProgram].map((word) => `'${word}'`).join(" ");
  const script = `npx() { shift; ${program} "$@"; }\n${[...first, ...second].join("")}`
    .replaceAll("http://127.0.0.1:8080", url)
    .replaceAll("policies apply", `policies apply --url ${url}`);
  const { code, printed } = await runScript(script, folder);
  expect(code, printed).toBe(0);
  expect(printed).toContain("account.sufficient-balance");
  expect(printed).toContain("large-refund");
  console.info(`the tutorials took ${((performance.now() - began_ms) / 1000).toFixed(1)} s, without reading them`);
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
