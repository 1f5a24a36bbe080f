import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { beginCli, runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { cliProgram } from "../../packages/cli/src/testing/start-cli.ts";
import { createClient } from "../../packages/sdk/src/index.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";
import { tokenKey } from "../../packages/server/src/testing/tokens.ts";
import { whenFileIsDone } from "../../packages/server/src/testing/when-file-is-done.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);
const org = await reviewedOrganization(database.db, url, { packs: [] });
const admin = createClient({ base_url: url, api_key: org.admin });
const reviewer = createClient({ base_url: url, api_key: org.reviewer });
for (const [name, spec] of Object.entries({
  "no-large-sums": { when: "params.amount_usd > 1000.0", effect: "block", message: "More than {{1000}} USD." },
  "people-look": { when: "params.amount_usd > 100.0", effect: "escalate", message: "More than 100 USD." },
  "at-most-fifty": {
    when: 'params.to == "petty cash" && params.amount_usd > 50.0',
    effect: "approve_modified",
    modify: [{ op: "set", path: "/amount_usd", value: "50.0" }],
    message: "Petty cash gets 50 USD.",
  },
})) {
  const matched = { match: { verbs: ["send_money", "send_later"] }, ...spec };
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name, title: name }, spec: matched };
  await admin.activatePolicy((await admin.createPolicy({ policy })).policy_id, "live");
}

const done_folder = mkdtempSync(join(tmpdir(), "countersign-mcp-"));
afterAll(() => rmSync(done_folder, { recursive: true, force: true }));
let servers = 0;

/** The arguments of `countersign mcp`, and the file in which its server records calls. */
function command(options: readonly string[], service = url) {
  servers += 1;
  const done_file = join(done_folder, String(servers));
  writeFileSync(done_file, "");
  const server = [process.execPath, join(import.meta.dirname, "mcp-server.mjs"), done_file];
  return { done_file, args: ["mcp", "--url", service, ...options, "--", ...server] };
}

/** Connects a client to `countersign mcp` in the test's process. */
async function governed(
  options: readonly string[] = [],
  { key = org.agent, service = url, until = onTestFinished as (end: () => Promise<void>) => void } = {},
) {
  const { done_file, args } = command(options, service);
  const output = new PassThrough();
  const cli = beginCli(args, { COUNTERSIGN_API_KEY: key }, output);
  const client = new Client({ name: "desk", version: "1.0.0" });
  const close = async () => {
    await client.close();
    cli.stdin.end();
    await cli.finished;
  };
  until(close);
  // The server transport also suits a client: it reads one stream and writes another.
  await client.connect(new StdioServerTransport(output, cli.stdin));
  return { ...conversation(client, done_file), close, printed: cli.printed };
}

async function governedByProcess() {
  const { done_file, args } = command([]);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...cliProgram, ...args],
    env: { PATH: process.env["PATH"] ?? "", COUNTERSIGN_API_KEY: org.agent },
  });
  const client = new Client({ name: "desk", version: "1.0.0" });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return conversation(client, done_file);
}

function conversation(client: Client, done_file: string) {
  const all = (): unknown[] =>
    readFileSync(done_file, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  const before = all().length;
  return {
    client,
    done_file,
    done: () => all().slice(before),
    async send(amount_usd: number, to = "ann", options = {}) {
      const result = await client.callTool({ name: "send_money", arguments: { amount_usd, to } }, undefined, options);
      const texts = (result.content as { text: string }[]).map(({ text }) => text);
      return { texts, failed: result.isError === true, meta: result._meta };
    },
  };
}

let shared: Client;
let shared_file: string;
beforeAll(async () => {
  ({ client: shared, done_file: shared_file } = await governed([], { until: whenFileIsDone }));
});
/** The shared server without options, and its calls from now on. */
const usual = () => conversation(shared, shared_file);

const latest = async () => (await admin.listIntents({ limit: 1 })).intents[0];
const happened = async (intent_id = "") =>
  (await admin.listIntentAudit(intent_id)).audit.filter(({ type }) => type === "observed").map(({ data }) => data);
const openReview = async () => (await reviewer.listEscalations({ status: "pending" })).escalations[0]?.escalation_id;

test("an approved call is made, submitted under the client's own name, and recorded", async () => {
  const { client, send, done } = await governedByProcess();
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(["send_money", "balance", "send_later", "hang"]);
  expect(await send(20)).toEqual({ texts: ["sent 20 to ann"], failed: false, meta: undefined });
  expect(done()).toEqual([["send_money", { amount_usd: 20, to: "ann" }]]);
  const intent = await latest();
  expect(intent).toMatchObject({
    agent: { id: "desk", framework: "mcp" },
    action: { verb: "send_money", target: { type: "mcp_server", identifier: "bank" } },
    payload: { summary: "Send money", content: { amount_usd: 20, to: "ann" } },
    verdict: "approve",
  });
  await expect.poll(() => happened(intent?.intent_id)).toMatchObject([{ status: "executed" }]);
  expect(await send(5, "nobody")).toMatchObject({ texts: ["no such account"], failed: true });
  await expect.poll(async () => happened((await latest())?.intent_id)).toMatchObject([{ status: "failed" }]);
});

test("a blocked call never reaches the server, and the model gets the reason", async () => {
  const { send, done } = usual();
  const { texts, failed, meta } = await send(5000);
  expect({ failed, text: texts[0] }).toMatchObject({ failed: true, text: expect.stringContaining("no-large-sums:") });
  expect(meta).toEqual({ "countersign/intent_id": (await latest())?.intent_id });
  expect(done()).toEqual([]);
  await expect.poll(async () => happened((await latest())?.intent_id)).toMatchObject([{ status: "skipped" }]);
});

test("a call that policies change is made with the changes, and the model gets them", async () => {
  const { send, done } = usual();
  const { texts, failed } = await send(80, "petty cash");
  expect(failed).toBe(false);
  expect(texts).toEqual(["sent 50 to petty cash", expect.stringContaining('{"amount_usd":50,"to":"petty cash"}')]);
  expect(done()).toEqual([["send_money", { amount_usd: 50, to: "petty cash" }]]);
});

test("a call made as a task is held back by an error with the reason, and its result reports a change", async () => {
  const { client, done } = usual();
  await client.listTools();
  const later = async (amount_usd: number) => {
    const call = { name: "send_later", arguments: { amount_usd, to: "petty cash" } };
    for await (const heard of client.experimental.tasks.callToolStream(call)) {
      if (heard.type === "error") return heard.error.message;
      if (heard.type === "result") return (heard.result.content as { text: string }[]).map(({ text }) => text);
    }
    return null;
  };
  expect(await later(5000)).toContain("no-large-sums: More than");
  expect(done()).toEqual([]);
  expect(await later(20)).toEqual(["sent 20 to petty cash"]);
  await expect.poll(async () => happened((await latest())?.intent_id)).toMatchObject([{ status: "executed" }]);
  expect(await later(80)).toEqual(["sent 50 to petty cash", expect.stringContaining('"amount_usd":50')]);
  expect(done()).toHaveLength(2);
});

test("a call waits for people, with progress messages, and continues as they approved it", async () => {
  const { send, done } = usual();
  const heard: unknown[] = [];
  const sent = send(400, "bob", { onprogress: (progress: unknown) => heard.push(progress) });
  await expect.poll(openReview).toBeDefined();
  await expect.poll(() => heard.length).toBeGreaterThan(0);
  expect(done()).toEqual([]);
  const less = { op: "replace" as const, path: "/amount_usd", value: 90 };
  await reviewer.decideEscalation((await openReview()) ?? "", { outcome: "approve_modified", modifications: [less] });
  expect(await sent).toMatchObject({ texts: ["sent 90 to bob", expect.stringContaining('"amount_usd":90')] });
  expect(done()).toEqual([["send_money", { amount_usd: 90, to: "bob" }]]);
});

test("a repeated call after the wait resumes the same review, and its approval works once", async () => {
  const { send, done } = await governed(["--wait", "1"]);
  const before = (await admin.listIntents({ limit: 200 })).intents.length;
  expect(await send(300)).toMatchObject({ failed: true, texts: [expect.stringContaining("Call the tool again")] });
  expect(await send(300)).toMatchObject({ failed: true, texts: [expect.stringContaining("Call the tool again")] });
  expect((await admin.listIntents({ limit: 200 })).intents.length).toBe(before + 1);
  await reviewer.decideEscalation((await openReview()) ?? "", { outcome: "approve" });
  expect(await send(300)).toMatchObject({ failed: false, texts: ["sent 300 to ann"] });
  expect(await send(300)).toMatchObject({ failed: true, texts: [expect.stringContaining("Call the tool again")] });
  expect(done()).toHaveLength(1);
  await reviewer.decideEscalation((await openReview()) ?? "", { outcome: "block" });
  expect(await send(300)).toMatchObject({ failed: true, texts: [expect.stringContaining("A reviewer decided")] });
  expect(done()).toHaveLength(1);
});

test("a call that the client cancels during its review is withdrawn, and not made", async () => {
  const { send, done } = usual();
  const abort = new AbortController();
  const sent = send(250, "cy", { signal: abort.signal });
  await expect.poll(openReview).toBeDefined();
  abort.abort("no longer");
  await expect(sent).rejects.toThrow("no longer");
  await expect.poll(openReview).toBeUndefined();
  expect(await send(10)).toMatchObject({ texts: ["sent 10 to ann"] });
  expect(done()).toEqual([["send_money", { amount_usd: 10, to: "ann" }]]);
});

test("without a decision nothing is done: a wrong key, no service, arguments that do not fit an intent", async () => {
  const closed = await governed([], { service: "http://127.0.0.1:9" });
  expect(await closed.send(20)).toMatchObject({ failed: true, texts: [expect.stringContaining("Not decided")] });
  const refused = await governed([], { key: `${org.agent.slice(0, -1)}~` });
  expect(await refused.send(20)).toMatchObject({ failed: true, texts: [expect.stringContaining("invalid_api_key")] });
  await refused.printed(/invalid_api_key/);
  const { send, done } = usual();
  expect(await send(20, "\0")).toMatchObject({ failed: true, texts: [expect.stringContaining("/intent/payload")] });
  expect([...closed.done(), ...refused.done(), ...done()]).toEqual([]);
});

test("a tool that the server does not list is unknown to the client, also before the client lists any", async () => {
  const { client, send, done } = await governed();
  for (const name of ["send_money\u200b", "Send_Money", "send_m\u043eney", "send-money"]) {
    const called = client.callTool({ name, arguments: { amount_usd: 20, to: "ann" } });
    await expect(called).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining(`Unknown tool: ${name}`),
    });
  }
  expect(done()).toEqual([]);
  expect(await send(20)).toMatchObject({ failed: false });
});

test("the server does not get the key, and its statements about tools count only if it is trusted", async () => {
  const directory = mkdtempSync(join(tmpdir(), "countersign-mcp-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const context_file = join(directory, "context.json");
  writeFileSync(context_file, '{"contract_version":"1","facts":{"security":{"siem_ref":"desk"}}}');
  const trusting = await governed(["--trust-annotations", "--context", context_file, "--agent", "clerk"]);
  await trusting.client.listTools();
  const result = await trusting.client.callTool({ name: "balance" });
  const { env } = JSON.parse((result.content as { text: string }[])[0]?.text ?? "");
  expect(env).toContain("PATH");
  expect(env.filter((name: string) => name.startsWith("COUNTERSIGN_"))).toEqual([]);
  const facts = async () => (await admin.getIntent((await latest())?.intent_id ?? "")).facts;
  expect(await facts()).toMatchObject({ security: { siem_ref: { value: "desk" }, side_effect: { value: false } } });
  expect(await latest()).toMatchObject({ agent: { id: "clerk" }, estimated_impact: { reversible: true } });
  await usual().client.callTool({ name: "balance" });
  expect(await facts()).toEqual({});
});

test("the token of --agent-token-file proves the agent, and is read again for every call", async () => {
  const directory = mkdtempSync(join(tmpdir(), "countersign-mcp-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const key = await tokenKey("k1");
  const iss = "https://idp.example";
  await admin.addTokenIssuer({ issuer: iss, jwks: { keys: [key.jwk] }, audience: ["countersign"] });
  const token_file = join(directory, "token");
  const write = async (sub: string) =>
    writeFileSync(token_file, `${await key.sign({ iss, sub, aud: "countersign", exp: Date.now() / 1_000 + 600 })}\n`);
  const proved = async () =>
    (await admin.getIntent((await latest())?.intent_id ?? "")).facts.identity?.["authenticated_agent_id"];
  await write("clerk");
  const { client } = await governed(["--agent", "clerk", "--agent-token-file", token_file]);
  await client.callTool({ name: "balance" });
  expect(await proved()).toMatchObject({ value: "clerk", assurance: "verified" });
  await write("other");
  await client.callTool({ name: "balance" });
  expect(await proved()).toMatchObject({ value: "other", assurance: "verified" });
  rmSync(token_file);
  expect(await client.callTool({ name: "balance" })).toMatchObject({ isError: true });
});

test("a disconnected client leaves no server behind, and hanging calls are recorded as failed", async () => {
  const { client, done, close } = await governed();
  void client.callTool({ name: "hang" }).catch(() => undefined);
  await expect.poll(done).toEqual([["hang", null]]);
  const { intent_id } = (await latest()) ?? { intent_id: "" };
  await close();
  await expect.poll(() => happened(intent_id)).toMatchObject([{ status: "failed" }]);
});

test("a server that cannot be started, and one that ends, are reported by words and exit code", async () => {
  const missing = await runCli(["mcp", "--", "no-such-server"]);
  expect(missing).toEqual({
    code: 1,
    stdout: "",
    stderr: "countersign: no-such-server cannot be started: there is no such program\n",
  });
  const ended = await runCli(["mcp", "--", process.execPath, "-e", "process.exit(7)"]);
  expect(ended).toEqual({ code: 7, stdout: "", stderr: "" });
  const mode = await runCli(["mcp", "--mode", "live", "--", "true"]);
  expect(mode).toMatchObject({ code: 1, stderr: "countersign: --mode takes `shadow` only\n" });
  const context = await runCli(["mcp", "--context", "/no/such/file", "--", "true"]);
  expect(context).toMatchObject({ code: 1, stderr: expect.stringContaining("--context /no/such/file") });
});
