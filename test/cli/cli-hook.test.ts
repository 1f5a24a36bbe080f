/** `countersign hook` against the service. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, test } from "vitest";
import { beginCli, runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { cliProgram } from "../../packages/cli/src/testing/start-cli.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);
const org = await reviewedOrganization(database.db, url, { packs: ["coding"], default_verdict: "approve" });
const folder = mkdtempSync(join(tmpdir(), "countersign-hook-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let calls = 0;
function hookOf(command: string, more: object = {}) {
  calls += 1;
  const given = {
    session_id: "s",
    tool_use_id: `toolu_${calls}`,
    cwd: folder,
    hook_event_name: "PreToolUse",
    tool_name: "Bash",
  };
  return { ...given, tool_input: { command }, ...more };
}

const environment = (settings: Record<string, string> = {}) => ({
  ...{ COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY: org.agent, CLAUDE_PROJECT_DIR: folder },
  ...settings,
});

async function hook(input: unknown, options: readonly string[] = [], settings: Record<string, string> = {}) {
  const cli = beginCli(["hook", "claude-code", ...options], environment(settings));
  cli.stdin.end(typeof input === "string" ? input : JSON.stringify(input));
  const { code, stdout, stderr } = await cli.finished;
  return { code, stderr, answer: stdout === "" ? null : JSON.parse(stdout).hookSpecificOutput };
}

/** Runs the installed command as Claude Code does: in a shell, with JSON on standard input and output. */
async function asProcess(input: string, program: readonly string[]) {
  const { PATH = "" } = process.env;
  const line = `${program.map((word) => `'${word}'`).join(" ")} hook claude-code || exit 2`;
  const child = spawn("sh", ["-c", line], { env: { PATH, ...environment() } });
  child.stdin.on("error", () => undefined); // A program that is missing reads nothing.
  child.stdin.end(input);
  const closed = new Promise((resolve) => child.once("close", resolve));
  return { stdout: await text(child.stdout), code: await closed };
}

test("the installed command answers as a process, and its shell stops the call if the program is missing or fails", async () => {
  const answered = await asProcess(JSON.stringify(hookOf("npm test")), [process.execPath, ...cliProgram]);
  expect(answered.code).toBe(0);
  expect(JSON.parse(answered.stdout).hookSpecificOutput.permissionDecision).toBe("allow");
  expect(await asProcess("{}", [join(folder, "missing")])).toEqual({ stdout: "", code: 2 });
});

describe("hook claude-code", () => {
  test("allows a call, and reports its outcome without the output of the tool", async () => {
    const one = hookOf("npm test");
    const { code, answer } = await hook(one);
    expect([code, answer.permissionDecision]).toEqual([0, "allow"]);
    const tool_response = { stdout: "x".repeat(2_000_000) };
    expect((await hook({ ...one, hook_event_name: "PostToolUse", tool_response })).code).toBe(0);
    const { intents } = (await call(url, "GET", "/v1/intents", { key: org.admin })).json;
    expect(intents[0]).toMatchObject({
      payload: { content: { workspace: folder } },
      execution: { status: "executed" },
    });
  });

  test("denies a blocked call", async () => {
    const { code, answer } = await hook(hookOf("rm -rf ~"));
    expect([code, answer.permissionDecision]).toEqual([0, "deny"]);
    expect(answer.permissionDecisionReason).toContain("coding.wipe");
  });

  test("waits for people, then says that the call waits, and an equal call continues the review", async () => {
    const held = await hook(hookOf("git push"), ["--wait", "0"]);
    expect(held.answer.permissionDecisionReason).toContain("Waiting for approval");
    const again = hook(hookOf("git push"), ["--wait", "60"]);
    const { escalations } = (await call(url, "GET", "/v1/escalations?status=pending", { key: org.reviewer })).json;
    const path = `/v1/escalations/${escalations[0].escalation_id}/decision`;
    expect((await call(url, "POST", path, { key: org.reviewer, body: { outcome: "approve" } })).status).toBe(200);
    expect((await again).answer.permissionDecision).toBe("allow");
  });

  test.each([
    ["there is no service", { COUNTERSIGN_URL: "http://127.0.0.1:1" }, "no answer from http://127.0.0.1:1"],
    ["the key is wrong", { COUNTERSIGN_API_KEY: "svc_live_org_wrong" }, "COUNTERSIGN_API_KEY"],
    ["the key may not submit", { COUNTERSIGN_API_KEY: org.reviewer }, "COUNTERSIGN_API_KEY"],
  ])("denies a call if %s", async (_, settings, said) => {
    const { code, answer } = await hook(hookOf("ls"), [], settings);
    expect([code, answer.permissionDecision]).toEqual([0, "deny"]);
    expect(answer.permissionDecisionReason).toContain(said);
  });

  test("stops the call with code 2 if the input is no hook or a setting is wrong", async () => {
    expect(await hook("not json")).toMatchObject({ code: 2, answer: null });
    expect(await hook({})).toMatchObject({ code: 2, answer: null });
    expect(await hook(hookOf("ls"), [], { COUNTERSIGN_URL: "localhost" })).toMatchObject({ code: 2, answer: null });
  });
});

describe("hook install", () => {
  const home = join(folder, "home");
  const path = join(home, ".claude", "settings.json");

  test("shows the settings, writes them after a yes, and needs no change the second time", async () => {
    mkdirSync(join(home, ".claude"), { recursive: true });
    writeFileSync(path, JSON.stringify({ model: "opus" }));
    const cli = beginCli(["hook", "install", "--user"], { HOME: home });
    await cli.printed(/Write it\?/);
    cli.stdin.write("y\n");
    const { code, stdout } = await cli.finished;
    expect(code).toBe(0);
    expect(stdout).toContain('"countersign hook claude-code || exit 2"');
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({
      model: "opus",
      hooks: { PreToolUse: [{ matcher: "*" }] },
    });
    expect((await runCli(["hook", "install", "--user"], { HOME: home })).stdout).toBe(`${path} needs no change\n`);
  });

  test("writes nothing after a no, and nothing over a file that is no JSON", async () => {
    const before = readFileSync(path, "utf8");
    const cli = beginCli(["hook", "uninstall", "--user"], { HOME: home });
    await cli.printed(/Write it\?/);
    cli.stdin.write("n\n");
    expect((await cli.finished).stderr).toContain("nothing was written");
    expect(readFileSync(path, "utf8")).toBe(before);
    mkdirSync(join(folder, "broken", ".claude"), { recursive: true });
    writeFileSync(join(folder, "broken", ".claude", "settings.json"), "{");
    const broken = await runCli(["hook", "install", "--yes"], {}, join(folder, "broken"));
    expect([broken.code, broken.stderr]).toEqual([
      1,
      "countersign: .claude/settings.json is no JSON: correct it first\n",
    ]);
  });

  test("uninstall removes the hooks and keeps the rest", async () => {
    expect((await runCli(["hook", "uninstall", "--user", "--yes"], { HOME: home })).code).toBe(0);
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ model: "opus" });
  });
});
