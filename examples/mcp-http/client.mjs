/**
 * Calls a tool through the proxy, as an agent would.
 *
 *   node examples/mcp-http/client.mjs http://127.0.0.1:8090/mcp 20 ann
 */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [, , url, amount_usd, to] = process.argv;
const client = new Client({ name: "invoice-bot", version: "1.0.0" });
const transport = new StreamableHTTPClientTransport(new URL(url));
await client.connect(transport);
const called = { name: "send_money", arguments: { amount_usd: Number(amount_usd), to } };
const { content, isError } = await client.callTool(called);
for (const { text } of content) console.log(text);
process.exitCode = isError ? 1 : 0;
await transport.terminateSession();
await client.close();
