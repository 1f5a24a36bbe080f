/** An MCP client: starts the server of mcp.json and calls its tool. It does not know Countersign. */
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const { mcpServers } = JSON.parse(readFileSync(new URL("mcp.json", import.meta.url), "utf8"));
const client = new Client({ name: "desk", version: "1.0.0" });
await client.connect(new StdioClientTransport({ ...mcpServers.bank, cwd: import.meta.dirname, env: process.env }));

const [amount_usd = "20", to = "ann"] = process.argv.slice(2);
const call = { name: "send_money", arguments: { amount_usd: Number(amount_usd), to } };
// A held call waits up to 300 seconds for people. The default timeout of the client is shorter.
const { content } = await client.callTool(call, undefined, { timeout: 310_000 });
for (const { text } of content) console.log(text);
await client.close();
