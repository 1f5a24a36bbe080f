/** An MCP server with one tool. It does not know Countersign. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "bank", version: "1.0.0" });
server.registerTool(
  "send_money",
  { title: "Send money", inputSchema: { amount_usd: z.number(), to: z.string() } },
  ({ amount_usd, to }) => ({ content: [{ type: "text", text: `sent ${amount_usd} USD to ${to}` }] }),
);
await server.connect(new StdioServerTransport());
