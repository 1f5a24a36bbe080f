import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startFakeService } from "../../packages/cli/src/testing/fake-service.ts";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";

const folder = mkdtempSync(join(tmpdir(), "cli-export-"));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

const database = await testDatabase();
const { url } = await serviceNode(database);
let org: Reviewed;
beforeAll(async () => {
  org = await reviewedOrganization(database.db, url, { packs: [] });
  for (const id of ["agent-1", "agent-2"]) {
    const intent = { agent: { id }, action: { verb: "pay" } };
    const { status } = await call(url, "POST", "/v1/intents", { key: org.agent, body: { intent } });
    expect(status).toBe(201);
  }
});

const exported = (...args: string[]) =>
  runCli(["export", ...args, "--url", url], { COUNTERSIGN_API_KEY: org.operator });

test("writes the rows of a filter to a new file, in the format of its name, and reports size and hash", async () => {
  const path = join(folder, "two.jsonl");
  const { code, stderr, stdout } = await exported(
    "decisions",
    "--agent",
    "agent-2",
    "--from",
    "2020-01-01",
    "--output",
    path,
  );
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: "" });
  expect(stderr).toMatch(
    /^1 rows, [\d,]+ bytes written to .*two\.jsonl, up to audit record \d+\nsha256 [0-9a-f]{64}\n$/,
  );
  expect(JSON.parse(readFileSync(path, "utf8")).intent.agent.id).toBe("agent-2");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const again = await exported("decisions", "--output", path);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("already exists") });
});

test("writes CSV to standard output without other options", async () => {
  const { code, stdout } = await exported("audit", "--type", "decided");
  expect(code).toBe(0);
  expect(stdout.split("\r\n").map((line) => line.split(",")[2])).toEqual(["type", "decided", "decided", undefined]);
});

test("exports the audit trail by the filters of the list", async () => {
  const { code, stdout } = await exported("audit", "--agent", "agent-2", "--action", "pay", "--format", "jsonl");
  expect(code).toBe(0);
  const rows = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(rows.map(({ type, about }) => [type, about.agent_id])).toEqual([
    ["decided", "agent-2"],
    ["submitted", "agent-2"],
  ]);
  expect((await exported("audit", "--agent", "agent-2", "--policy", "none", "--format", "jsonl")).stdout).toBe("");
});

test("an export that ends early leaves no file, and fails", async () => {
  const part = Buffer.from("seq\r\n").toString("base64");
  const service = await startFakeService(() => ({
    status: 200,
    headers: { "content-type": "application/x-ndjson" },
    body: { progress: { rows: 1, done: 0.5 }, part },
  }));
  const path = join(folder, "cut.csv");
  const { code, stderr } = await runCli(["export", "audit", "--output", path, "--url", service.url]);
  expect(code).toBe(1);
  expect(stderr).toContain("the answer ended early");
  expect(existsSync(path)).toBe(false);
});

test("refuses a time that it cannot read", async () => {
  const { code, stderr } = await exported("decisions", "--from", "yesterday");
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining("--from takes a time") });
});
