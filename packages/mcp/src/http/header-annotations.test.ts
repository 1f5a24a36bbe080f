import { expect, test } from "vitest";
import { bridged, type Heard, recorded, serving } from "../testing/http-ends.ts";
import { withoutFaultyTools } from "./header-annotations.ts";

const at = (type: string, header: unknown) => ({ type, "x-mcp-header": header });
const tool = (name: string, properties: object, more: object = {}) => ({
  name,
  inputSchema: { type: "object", properties, ...more },
});
const listed = (...tools: unknown[]) => JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tools } });
const good = tool("good", {
  ...{ region: at("string", "Region"), dry: at("boolean", "Dry-Run"), plain: { default: { "x-mcp-header": "" } } },
  nested: { type: "object", properties: { count: at("integer", "Count") } },
});

test.each([
  ["no name", { a: at("string", "") }],
  ["a space", { a: at("string", "a b") }],
  ["a colon", { a: at("string", "a:b") }],
  ["a tab", { a: at("string", "a\t1") }],
  ["another alphabet", { a: at("string", "Région") }],
  ["a number as name", { a: at("string", 7) }],
  ["a type that headers do not repeat", { a: at("number", "A") }],
  ["an object", { a: at("object", "A") }],
  ["no type", { a: { "x-mcp-header": "A" } }],
  ["one name twice", { a: at("string", "Field"), b: at("string", "field") }],
  ["members of an array", { a: { type: "array", items: at("string", "A") } }],
  ["a choice", { a: { anyOf: [at("string", "A")] } }],
  ["properties in a choice", { a: { anyOf: [{ properties: { b: at("string", "A") } }] } }],
])("leaves out a tool whose annotation has %s, and tells the operator", (_, properties) => {
  const notes: string[] = [];
  const line = withoutFaultyTools(listed(good, tool("bad", properties)), (text) => notes.push(text));
  expect(line).toBe(listed(good));
  expect(notes).toEqual([expect.stringMatching(/^a tool was left out: "bad": /)]);
});

test("does not touch a list without such a tool, or what is no list, and keeps digits", () => {
  const notes: string[] = [];
  const unchanged = (line: string) => expect(withoutFaultyTools(line, (text) => notes.push(text))).toBe(line);
  for (const line of [listed(good, null, { name: "none" }), '{"id":1,"result":{}}', '{"id":1,"error":{}}', "[1,"])
    unchanged(line);
  expect(notes).toEqual([]);
  const bad = JSON.stringify(tool("bad", { a: at("string", "") }));
  const line = `{"id":1,"result":{"tools":[${bad},{"name":"one","n":1.0}]}}`;
  expect(withoutFaultyTools(line, () => undefined)).toBe('{"id":1,"result":{"tools":[{"name":"one","n":1.0}]}}');
});

const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };

test("the client of the bridge neither sees nor calls such a tool", async () => {
  const heard: Heard[] = [];
  const server = await serving(
    recorded(heard, (body, _, response) => {
      const { id } = JSON.parse(body);
      response.setHeader("content-type", "application/json");
      response.end(listed(good, tool("bad", { a: at("string", "") })).replace('"id":1', `"id":${JSON.stringify(id)}`));
    }),
  );
  const { input, output, notes } = bridged(`${server}/mcp`);
  const said: string[] = [];
  output.on("data", (chunk) => said.push(...String(chunk).trim().split("\n")));
  const ask = (id: number, method: string, params: object) =>
    input.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta } })}\n`);
  ask(1, "tools/list", {});
  await expect.poll(() => said).toEqual([listed(good)]);
  ask(2, "tools/call", { name: "bad", arguments: {} });
  await expect.poll(() => said[1]).toContain("Unknown tool: bad");
  expect(heard.every(({ body }) => !body.includes("tools/call"))).toBe(true);
  expect(notes[0]).toContain('a tool was left out: "bad"');
});
