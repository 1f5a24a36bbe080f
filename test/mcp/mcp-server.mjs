// A test server on the protocol's own library. Records its calls in the given file.
import { appendFileSync } from "node:fs";
import { InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const [, , done_file] = process.argv;
const done = (name, given) => appendFileSync(done_file, `${JSON.stringify([name, given])}\n`);

const capabilities = { tasks: { requests: { tools: { call: {} } } } };
const taskStore = new InMemoryTaskStore();
const server = new McpServer({ name: "bank", version: "1.0.0" }, { capabilities, taskStore });
const money = { amount_usd: z.number(), to: z.string() };
server.registerTool("send_money", { title: "Send money", inputSchema: money }, (given) => {
  done("send_money", given);
  if (given.to === "nobody") return { isError: true, content: [{ type: "text", text: "no such account" }] };
  return { content: [{ type: "text", text: `sent ${given.amount_usd} to ${given.to}` }] };
});
server.registerTool("balance", { annotations: { readOnlyHint: true } }, () => {
  done("balance", null);
  return { content: [{ type: "text", text: JSON.stringify({ usd: 900, env: Object.keys(process.env) }) }] };
});
server.experimental.tasks.registerToolTask(
  "send_later",
  { inputSchema: money },
  {
    async createTask(given, { taskStore }) {
      done("send_later", given);
      const task = await taskStore.createTask({ ttl: 60_000, pollInterval: 20 });
      const content = [{ type: "text", text: `sent ${given.amount_usd} to ${given.to}` }];
      await taskStore.storeTaskResult(task.taskId, "completed", { content });
      return { task };
    },
    getTask: (_given, { taskId, taskStore }) => taskStore.getTask(taskId),
    getTaskResult: (_given, { taskId, taskStore }) => taskStore.getTaskResult(taskId),
  },
);
server.registerTool("hang", {}, () => {
  done("hang", null);
  return new Promise(() => undefined);
});
await server.connect(new StdioServerTransport());
