/**
 * A server of the Model Context Protocol behind HTTP, with one tool.
 *
 *   PORT=8070 node examples/mcp-http/server.mjs
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const token = process.env.BANK_TOKEN ?? "";
if (token === "") {
  console.error("BANK_TOKEN: set it to a secret of your choice");
  process.exit(1);
}

function bank() {
  const server = new McpServer({ name: "bank", version: "1.0.0" });
  const inputSchema = { amount_usd: z.number(), to: z.string() };
  server.registerTool("send_money", { title: "Send money", inputSchema }, ({ amount_usd, to }) => {
    console.log(`sent ${amount_usd} USD to ${to}`);
    return { content: [{ type: "text", text: `sent ${amount_usd} USD to ${to}` }] };
  });
  return server;
}

const sessions = new Map();

const server = createServer(async (request, response) => {
  if (request.headers.authorization !== `Bearer ${token}`)
    return response.writeHead(401, { "WWW-Authenticate": "Bearer" }).end();
  const id = request.headers["mcp-session-id"];
  const known = sessions.get(id);
  if (id !== undefined && known === undefined) return response.writeHead(404).end();
  const transport =
    known ??
    new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (made) => sessions.set(made, transport),
      onsessionclosed: (closed) => sessions.delete(closed),
    });
  if (known === undefined) await bank().connect(transport);
  await transport.handleRequest(request, response);
});

server.listen(Number(process.env.PORT ?? 8070), "127.0.0.1", () =>
  console.log(`listening on http://127.0.0.1:${server.address().port}/mcp`),
);
