import { expect, test } from "vitest";
import type { Message } from "../protocol/messages.ts";
import { MirroredParameters, mirroredHeaders, mismatchOf } from "./mirrored-headers.ts";

const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
const call = (name: string, given: object = {}) =>
  ({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: given, _meta } }) as Message;

test("writes values so that they arrive unchanged, and reads them again", () => {
  for (const [name, value] of [
    ["us-west1", "us-west1"],
    ["two words", "two words"],
    ["Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="],
    [" padded ", "=?base64?IHBhZGRlZCA=?="],
    ["line1\nline2", "=?base64?bGluZTEKbGluZTI=?="],
    ["=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="],
    ["", "=?base64??="],
  ] as const) {
    const headers = mirroredHeaders(call(name), new MirroredParameters());
    expect(headers["mcp-name"]).toBe(value);
    expect(mismatchOf(call(name), headers)).toBeNull();
    expect(mismatchOf(call(`${name}x`), headers)).toBe("Mcp-Name differs from the body");
  }
});

test("refuses missing headers of requests, and Base64 that Node would read leniently", () => {
  const { "mcp-name": _, ...others } = mirroredHeaders(call("pay"), new MirroredParameters());
  expect(mismatchOf(call("pay"), others)).toBe("Mcp-Name is missing");
  expect(mismatchOf(call("pay"), {})).toBe("MCP-Protocol-Version is missing");
  expect(mismatchOf(call("pay"), { ...others, "mcp-name": "=?base64?cGF5!?=" })).toBe("Mcp-Name differs from the body");
  const notification = { jsonrpc: "2.0", method: "notifications/x", params: { _meta } } as Message;
  expect(mismatchOf(notification, {})).toBeNull();
});

const annotated = (type: string, header: string) => ({ type, "x-mcp-header": header });

test("repeats the annotated arguments of a tool, and nothing that the protocol does not allow", () => {
  const parameters = new MirroredParameters();
  const properties = {
    region: annotated("string", "Region"),
    dry: annotated("boolean", "Dry-Run"),
    nested: { type: "object", properties: { count: annotated("integer", "Count") } },
    ...{ sum: annotated("number", "Sum"), bad: annotated("string", "a b"), empty: annotated("string", "") },
    list: { type: "array", items: annotated("string", "Item") },
  };
  parameters.learn({ tools: [{ name: "run", inputSchema: { type: "object", properties } }, null, { name: 1 }] });
  const given = { region: "eu", dry: false, nested: { count: 42 }, sum: 1, bad: "b", empty: "e", list: ["i"] };
  expect(parameters.headersOf("run", given)).toEqual({
    ...{ "mcp-param-region": "eu", "mcp-param-dry-run": "false", "mcp-param-count": "42" },
  });
  expect(parameters.headersOf("run", { region: null, nested: { count: 2 ** 53 } })).toEqual({});
  expect(parameters.headersOf("other", given)).toEqual({});
  const all = parameters.headersOf("run", given);
  expect(parameters.mismatchOf("run", given, { ...all, "mcp-param-count": "42.0" })).toBeNull();
  expect(parameters.mismatchOf("run", given, {})).toMatch(/^mcp-param-\w+ is missing$/);
  expect(parameters.mismatchOf("run", given, { ...all, "mcp-param-count": "43" })).toBe(
    "mcp-param-count differs from the body",
  );
  parameters.learn({ tools: [{ name: "run", inputSchema: {} }] });
  expect(parameters.headersOf("run", given)).toEqual({});
});
