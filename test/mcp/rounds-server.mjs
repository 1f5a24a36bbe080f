// A test server of revision 2026-07-28. It asks for the account before it pays, and records its calls in the given file.
import { appendFileSync } from "node:fs";
import { acceptedContent, fromJsonSchema, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const [, , done_file] = process.argv;
const money = fromJsonSchema({
  type: "object",
  properties: { amount_usd: { type: "number" }, to: { type: "string" } },
});
const requestedSchema = { type: "object", properties: { account: { type: "string" } }, required: ["account"] };

function bank() {
  const server = new McpServer({ name: "bank", version: "1.0.0" });
  server.registerTool("pay", { inputSchema: money }, (given, { mcpReq }) => {
    const answer = acceptedContent(mcpReq.inputResponses, "account");
    if (answer === undefined) {
      const account = inputRequired.elicit({ message: "From which account?", requestedSchema });
      return inputRequired({ inputRequests: { account }, requestState: "asked" });
    }
    appendFileSync(done_file, `${JSON.stringify({ ...given, ...answer, state: mcpReq.requestState() })}\n`);
    return { content: [{ type: "text", text: `paid ${given.amount_usd}` }] };
  });
  return server;
}

serveStdio(bank);
