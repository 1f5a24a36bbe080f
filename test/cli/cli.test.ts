import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createProgram } from "../../packages/cli/src/program.ts";
import { capturingTerminal, runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { cliProgram, startCli } from "../../packages/cli/src/testing/start-cli.ts";

const packageDir = join(import.meta.dirname, "../../packages/cli");

test("--version prints the version of the package", async () => {
  const { version } = JSON.parse(await readFile(join(packageDir, "package.json"), "utf8"));
  expect(await runCli(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
});

/** Groups of commands that also do something themselves. */
const doing = ["evidence", "export"];

const commands = createProgram(capturingTerminal().terminal).commands.flatMap((command) => {
  const name = command.name();
  const inner = command.commands.map((each) => `${name} ${each.name()}`);
  return inner.length === 0 || doing.includes(name) ? [name, ...inner] : inner;
});

test.each(commands)("%s --help says what it does and shows an example that names it", async (command) => {
  const { code, stdout } = await runCli([...command.split(" "), "--help"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(new RegExp(`^Usage: countersign ${command}`));
  expect(stdout).toMatch(new RegExp(`\\nExamples?:\\n(?:.*\\n)*? {2}\\$ .*countersign ${command}`));
});

test("the README's table names every command and no other", async () => {
  const readme = await readFile(join(import.meta.dirname, "../../README.md"), "utf8");
  const table = readme.split("## The command line")[1]?.split("\n## ")[0] ?? "";
  // First cells look like `keys create\|list`, `policies check\|test FILE…` or `export`, `restore`.
  const told = Array.from(table.matchAll(/^\| (`.*?`) \| /gm), ([, cell = ""]) => cell)
    .flatMap((cell) => Array.from(cell.matchAll(/`(.*?)`/g), ([, text = ""]) => text))
    .flatMap((text) => {
      const [name = "", inner = ""] = text.replace(/ [A-Z]+…?$/, "").split(" ");
      return inner === "" ? [name] : inner.split("\\|").map((each) => `${name} ${each}`);
    });
  expect(told.sort()).toEqual([...commands].sort());
});

test("an unknown command is refused with a suggestion and exit code 1", async () => {
  const { code, stderr } = await runCli(["serv"]);
  expect(code).toBe(1);
  expect(stderr).toContain("Did you mean serve?");
});

test("a wrong setting stops every command in one line, without a stack and without the value of a secret", async () => {
  for (const command of [["serve"], ["keys", "list"], ["export"]]) {
    const { code, stdout, stderr } = await runCli(command, { PORT: "eighty", DATABASE_URL: "mysql://u:hunter2@db/x" });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/PORT="eighty": expected a whole number/);
    expect(stderr).not.toMatch(/hunter2|\n {4}at /);
  }
});

test.skipIf(!existsSync("/dev/full"))("a failed write to standard output fails the command with one line", async () => {
  const command = [process.execPath, ...cliProgram, "packs", "list"];
  const full = spawnSync("sh", ["-c", '"$@" > /dev/full', "sh", ...command], { encoding: "utf8" });
  expect([full.status, full.stderr]).toEqual([
    1,
    "countersign: standard output: ENOSPC: no space left on device, write\n",
  ]);
});

test("refuses an invalid service address before any request", async () => {
  for (const command of [
    ["replay", "x"],
    ["policies", "backtest"],
    ["webhooks", "listen"],
  ]) {
    const { code, stderr } = await runCli([...command, "--url", "localhost:8080"]);
    expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining("such as http://127.0.0.1:8080")]);
    expect(code).not.toBe(0);
  }
});

test("webhooks listen refuses an invalid status before it registers anything", async () => {
  for (const status of ["50", "199", "600"]) {
    const { code, stderr } = await runCli(["webhooks", "listen", "--status", status, "--url", "http://127.0.0.1:1"]);
    expect(code).toBe(1);
    expect(stderr).toContain("give a whole number from 200 to 599");
  }
});

test("SIGUSR1 opens no debugger to other users of this machine", async () => {
  const cli = startCli(["webhooks", "listen", "--secret", "whsec_AA"], { NODE_OPTIONS: "--inspect-port=0" });
  const [, url = ""] = await cli.printed(/^listening on (\S+);/m);
  cli.process.kill("SIGUSR1");
  for (let time = 0; time < 3; time += 1) expect((await fetch(url, { method: "POST" })).status).toBe(400);
  cli.process.kill("SIGTERM");
  const { code, stderr } = await cli.finished;
  expect(code).toBe(0);
  expect(stderr).not.toMatch(/debugger|inspector/i);
});

test("the installed program says how to build it when it was not built", async () => {
  const directory = await mkdtemp(join(tmpdir(), "countersign-bin-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  await cp(join(packageDir, "bin"), join(directory, "bin"), { recursive: true });
  await cp(join(packageDir, "package.json"), join(directory, "package.json"));
  const { status, stderr } = spawnSync(process.execPath, [join(directory, "bin/countersign.js"), "serve"], {
    encoding: "utf8",
  });
  expect(status).toBe(1);
  expect(stderr).toBe(
    "countersign: not built yet; run `npm start` (installs, builds and serves) or `npm run build` first\n",
  );
});

test.each([
  ["18.20.8", "needs Node"],
  ["20.18.9", "needs Node"],
  ["20.19.0", "not built"],
  ["21.7.3", "needs Node"],
  ["22.1.0", "needs Node"],
  ["22.2.0", "not built"],
  ["24.0.0", "not built"],
])("the installed program says on Node %s: %s", async (node, says) => {
  const directory = await mkdtemp(join(tmpdir(), "countersign-node-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  await cp(join(packageDir, "bin"), join(directory, "bin"), { recursive: true });
  const versions = `Object.defineProperty(process, "versions", { value: { node: "${node}" } })`;
  const preload = `--import=data:text/javascript,${encodeURIComponent(versions)}`;
  const { stderr } = spawnSync(process.execPath, [preload, join(directory, "bin/countersign.js")], {
    encoding: "utf8",
  });
  expect(stderr).toMatch(new RegExp(`^countersign: ${says}.*\n$`));
});
