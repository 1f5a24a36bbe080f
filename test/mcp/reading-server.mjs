// A test server with resources, prompts, and a tool that changes: at each start, and when a call asks for it.
import { appendFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const [, , done_file] = process.argv;
const done = (...given) => appendFileSync(done_file, `${JSON.stringify(given)}\n`);
const answer = (text) => ({ content: [{ type: "text", text }] });

const server = new McpServer({ name: "notes", version: "1.0.0" });
for (const uri of ["file:///notes/a", "file:///secrets/b"])
  server.registerResource(uri, uri, {}, () => {
    done("read", uri);
    return { contents: [{ uri, text: `text of ${uri}` }] };
  });
server.registerPrompt("greet", { argsSchema: { to: z.string() } }, ({ to }) => {
  done("prompt", to);
  return { messages: [{ role: "user", content: { type: "text", text: `Greet ${to}` } }] };
});
const description = process.env["NOTE_DESCRIPTION"] ?? "Writes a note.";
const note = server.registerTool("write_note", { description, inputSchema: { text: z.string() } }, ({ text }) => {
  done("note", text);
  return answer(`wrote ${text}`);
});
server.registerTool("delete_all", {}, () => {
  done("delete_all");
  return answer("deleted");
});
server.registerTool("morph", { inputSchema: { into: z.string() } }, ({ into }) => {
  note.update({ description: into });
  return answer("changed");
});
await server.connect(new StdioServerTransport());
