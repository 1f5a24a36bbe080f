/**
 * The client that `conformance client --command` starts with the address of its server: the official client of version
 * 2. With CONFORMANCE_PROXY, the command of a proxy for that address as JSON, it goes through the proxy. With
 * CONFORMANCE_BRIDGE it speaks to the proxy over standard input and output.
 */
import { Client, type FetchLike, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { filled } from "./pairs/forms.ts";
import { startListening } from "./processes.ts";
import { environment } from "./through.ts";

const { MCP_CONFORMANCE_SCENARIO: scenario = "", ...env } = process.env;
const is_new = env["MCP_CONFORMANCE_PROTOCOL_VERSION"] === "2026-07-28";
const context: {
  readonly toolCalls?: { name: string; arguments: Record<string, unknown> }[];
} = JSON.parse(env["MCP_CONFORMANCE_CONTEXT"] ?? "{}");

/** The servers of these scenarios do not answer the first request of the client. */
const without_discovery = /^(http-|sep-2322)/.test(scenario);

const discovered = {
  supportedVersions: ["2026-07-28"],
  capabilities: { tools: {}, resources: {}, prompts: {} },
  _meta: { "io.modelcontextprotocol/serverInfo": { name: "server", version: "1.0.0" } },
};

const fetchOrDiscover: FetchLike = (url, init) => {
  const message = typeof init?.body === "string" ? JSON.parse(init.body) : {};
  if (message.method !== "server/discover") return fetch(url, init);
  return Promise.resolve(Response.json({ jsonrpc: "2.0", id: message.id, result: discovered }));
};

/** A transport without the first request. */
function answeringDiscovery(transport: Transport): Transport {
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    if (!("method" in message && "id" in message) || message.method !== "server/discover")
      return send(message, options);
    transport.onmessage?.({ jsonrpc: "2.0", id: message.id, result: discovered });
  };
  return transport;
}

/** A scenario may be about what a failed call did, so its failure is not one of this program. */
const tried = (asked: Promise<unknown>) => asked.catch((error: Error) => console.error(error.message));

async function useEverything(client: Client): Promise<void> {
  const { tools } = await client.listTools();
  const schema = tools.find(({ name }) => name === "json_schema_2020_12_tool")?.inputSchema;
  const each = tools.map(({ name, inputSchema }) => ({ name, arguments: filled(inputSchema) }));
  const echo = [{ name: "json_schema_echo", arguments: { schema } }];
  // A call would make the client compile the schema that it must only list.
  const given = scenario === "json-schema-ref-no-deref" ? [] : (context.toolCalls ?? each);
  for (const call of schema === undefined ? given : echo) await tried(client.callTool(call));
  const { resources = [] } = await client.listResources();
  for (const { uri } of resources) await tried(client.readResource({ uri }));
  const { prompts = [] } = await client.listPrompts();
  for (const { name } of prompts) await tried(client.getPrompt({ name }));
}

function newClient(): Client {
  const client = new Client(
    { name: "conformance-client", version: "1.0.0" },
    {
      capabilities: { elicitation: { form: { applyDefaults: true } } },
      versionNegotiation: { mode: is_new ? "auto" : "legacy" },
    },
  );
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: {} }));
  return client;
}

async function overHttp(url: URL): Promise<void> {
  const client = newClient();
  try {
    await client.connect(new StreamableHTTPClientTransport(url, without_discovery ? { fetch: fetchOrDiscover } : {}));
    await useEverything(client);
  } finally {
    await client.close();
  }
}

async function overStdio([command = "", ...args]: readonly string[]): Promise<void> {
  const client = newClient();
  const transport = new StdioClientTransport({ command, args, env: environment, stderr: "inherit" });
  try {
    await client.connect(without_discovery ? answeringDiscovery(transport) : transport);
    await useEverything(client);
  } finally {
    await client.close();
  }
}

async function main(server_url: string): Promise<void> {
  const commandIn = (name: string) =>
    env[name] === undefined ? null : JSON.parse(env[name].replace("SERVER_URL", () => server_url));
  const bridge = commandIn("CONFORMANCE_BRIDGE");
  if (bridge !== null) return overStdio(bridge);
  const proxy = commandIn("CONFORMANCE_PROXY");
  const started = proxy === null ? null : await startListening(proxy);
  try {
    await overHttp(new URL(started?.url ?? server_url));
  } finally {
    await started?.stop();
  }
}

await main(process.argv.at(-1) ?? "");
