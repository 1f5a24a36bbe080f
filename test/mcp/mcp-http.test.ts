/** `countersign mcp --http`, in front of the example's server, with a real service. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { watched } from "../../packages/cli/src/testing/printed.ts";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { cliProgram, startCli } from "../../packages/cli/src/testing/start-cli.ts";
import { createClient } from "../../packages/sdk/src/index.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);
const org = await reviewedOrganization(database.db, url, { packs: [] });
const admin = createClient({ base_url: url, api_key: org.admin });
const reviewer = createClient({ base_url: url, api_key: org.reviewer });
for (const [name, spec] of Object.entries({
  "no-large-sums": { when: "params.amount_usd > 1000.0", effect: "block", message: "More than {{1000}} USD." },
  "people-look": { when: "params.amount_usd > 100.0", effect: "escalate", message: "More than 100 USD." },
})) {
  const metadata = { name, title: name };
  const policy = {
    apiVersion: "countersign/v1",
    kind: "Policy",
    metadata,
    spec: { match: { verbs: ["send_money"] }, ...spec },
  };
  await admin.activatePolicy((await admin.createPolicy({ policy })).policy_id, "live");
}

const example = join(import.meta.dirname, "../../examples/mcp-http");
const env = { COUNTERSIGN_API_KEY: org.agent, BANK_AUTHORIZATION: "Bearer bank-secret" };

function program(name: string, args: readonly string[], more: Record<string, string> = {}) {
  const child = spawn(process.execPath, [join(example, name), ...args], {
    env: { PATH: process.env["PATH"], ...more },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = watched();
  child.stdout.setEncoding("utf8").on("data", output.stdout);
  child.stderr.setEncoding("utf8").on("data", output.stderr);
  const finished = once(child, "close").then(([code]) => ({ code: code as number, ...output.printed() }));
  return { child, finished, printed: output.printed, match: (pattern: RegExp) => output.match(pattern, finished) };
}

const bank = program("server.mjs", [], { PORT: "0", BANK_TOKEN: "bank-secret" });
let bank_url = "";
beforeAll(async () => {
  [, bank_url = ""] = await bank.match(/listening on (\S+)/);
});
afterAll(async () => {
  bank.child.kill();
  await bank.finished;
});

const options = () => ["mcp", "--url", url, "--http", bank_url, "--header-env", "Authorization=BANK_AUTHORIZATION"];
const sent = () =>
  bank
    .printed()
    .stdout.split("\n")
    .filter((line) => line.startsWith("sent"));
const latest = async () => (await admin.listIntents({ limit: 1 })).intents[0];

async function listening() {
  const cli = startCli([...options(), "--listen", "0"], env);
  onTestFinished(async () => {
    cli.process.kill("SIGTERM");
    await cli.finished;
  });
  const [, at = ""] = await cli.printed(/listening on (\S+)/);
  return { at, cli };
}

test("decides on an agent's calls over HTTP, and ends on SIGTERM", async () => {
  const { at, cli } = await listening();
  const pay = (amount_usd: number) => program("client.mjs", [at, String(amount_usd), "ann"]).finished;
  const before = sent().length;
  expect(await pay(20)).toEqual({ code: 0, stdout: "sent 20 USD to ann\n", stderr: "" });
  expect(await latest()).toMatchObject({
    agent: { id: "invoice-bot", framework: "mcp" },
    action: { verb: "send_money", target: { type: "mcp_server", identifier: "bank" } },
    verdict: "approve",
  });
  expect(await pay(5000)).toMatchObject({ code: 1, stdout: expect.stringContaining("no-large-sums: More than") });
  expect(sent().slice(before)).toEqual(["sent 20 USD to ann"]);
  cli.process.kill("SIGTERM");
  expect((await cli.finished).code).toBe(0);
});

test("lets a call wait for people over HTTP", async () => {
  const { at } = await listening();
  const client = new Client({ name: "desk", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(at)) as Parameters<Client["connect"]>[0]);
  onTestFinished(() => client.close());
  const progress: unknown[] = [];
  const call = { name: "send_money", arguments: { amount_usd: 400, to: "bob" } };
  const held = client.callTool(call, undefined, { onprogress: (each) => progress.push(each) });
  const open = async () => (await reviewer.listEscalations({ status: "pending" })).escalations[0]?.escalation_id ?? "";
  await expect.poll(open).not.toBe("");
  await expect.poll(() => progress.length).toBeGreaterThan(0);
  await reviewer.decideEscalation(await open(), { outcome: "approve" });
  expect((await held).content).toEqual([{ type: "text", text: "sent 400 USD to bob" }]);
});

test("refuses 10 MB of arguments in words, over HTTP and for a client that starts its servers", async () => {
  const { at } = await listening();
  const call = { name: "send_money", arguments: { amount_usd: 20, to: "x".repeat(10_000_000) } };
  const before = sent().length;
  const remote = new Client({ name: "desk", version: "1.0.0" });
  await remote.connect(new StreamableHTTPClientTransport(new URL(at)) as Parameters<Client["connect"]>[0]);
  onTestFinished(() => remote.close());
  await expect(remote.callTool(call)).rejects.toThrow("The body is longer than 4194304 bytes");
  const local = new Client({ name: "desk", version: "1.0.0" });
  const program = { command: process.execPath, args: [...cliProgram, ...options()] };
  await local.connect(new StdioClientTransport({ ...program, env: { PATH: process.env["PATH"] ?? "", ...env } }));
  onTestFinished(() => local.close());
  const text = expect.stringMatching(/Not decided, so nothing was done.*payload_too_large/);
  expect(await local.callTool(call)).toMatchObject({ isError: true, content: [{ text }] });
  expect(sent().length).toBe(before);
});

test("decides on the calls of a client that starts its servers, without giving the server the key", async () => {
  const heard: IncomingHttpHeaders[] = [];
  const passing = createServer(async (request, response) => {
    heard.push(request.headers);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = "", headers } = request;
    const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) };
    const { "content-length": _, host: __, connection: ___, "transfer-encoding": ____, ...others } = headers;
    const answer = await fetch(bank_url, { method, headers: others as Record<string, string>, ...body });
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => passing.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    passing.closeAllConnections();
    passing.close();
  });
  const [name, value] = ["--http", `http://127.0.0.1:${(passing.address() as AddressInfo).port}/mcp`];
  const args = [...options().slice(0, 3), name, value, "--header-env", "Authorization=BANK_AUTHORIZATION"];
  const client = new Client({ name: "desk", version: "1.0.0" });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [...cliProgram, ...args],
      env: { PATH: process.env["PATH"] ?? "", ...env },
    }),
  );
  onTestFinished(() => client.close());
  const pay = (amount_usd: number) => client.callTool({ name: "send_money", arguments: { amount_usd, to: "cy" } });
  expect(await pay(30)).toMatchObject({ content: [{ text: "sent 30 USD to cy" }] });
  expect(await pay(5000)).toMatchObject({ isError: true });
  expect(heard.length).toBeGreaterThan(3);
  expect(JSON.stringify(heard)).not.toContain(org.agent);
});

test.each([
  [["--http", "ftp://tools.example"], "--http takes an address"],
  [["--http", "https://user:secret@tools.example/mcp"], "without user, password and #"],
  [["--http", "https://tools.example/mcp", "--", "node"], "give either a command"],
  [[], "give either a command"],
  [["--listen", "8090", "--", "node"], "need --http"],
  [["--http", "https://tools.example/mcp", "--allow-host", "tools"], "need --listen"],
  [["--http", "https://tools.example/mcp", "--listen", "here"], "--listen takes a port"],
  [
    ["--http", "https://tools.example/mcp", "--listen", "1.2.3.4:80"],
    "--listen 1.2.3.4:80: the address cannot be used",
  ],
  [
    ["--http", "https://tools.example/mcp", "--listen", "1", "--allow-origin", "https://a.example/x"],
    "takes an origin",
  ],
  [["--http", "https://tools.example/mcp", "--header", "Host: other"], "the proxy itself writes the header host"],
  [["--http", "https://tools.example/mcp", "--header", "Mcp-Name: x"], "the proxy itself writes the header mcp-name"],
  [["--http", "https://tools.example/mcp", "--header", "none"], '--header takes a name, ":" and a value'],
  [["--http", "https://tools.example/mcp", "--header-env", "Authorization=UNSET"], "UNSET is not set"],
])("refuses options that do not fit: %j", async (args, why) => {
  expect(await runCli(["mcp", ...args])).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(why) });
});
