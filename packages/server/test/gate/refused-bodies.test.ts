/** Source: decision 0022. */
import { expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { rawRequest } from "../../src/testing/network/raw-http.ts";
import { httpNode, testOrganization } from "../../src/testing/nodes/http-node.ts";

const { db } = await testDatabase();
const { port } = await httpNode(db);
const { api_key } = await (await testOrganization(db)).key();

const spaces = Buffer.alloc(65_536, 0x20);
const chunk = Buffer.concat([Buffer.from("10000\r\n"), spaces, Buffer.from("\r\n")]);
const head = (line: string, key: string, more = "") =>
  Buffer.from(`${line} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\n${more}\r\n`);
const next = head("GET /v1/api-keys", api_key, "Connection: close\r\n");

const chunked = "Transfer-Encoding: chunked\r\n";
const announced = `Content-Length: ${spaces.length * 160}\r\n`;
const inChunks = [...Array(160).fill(chunk), Buffer.from("0\r\n\r\n")];
const whole = Array(160).fill(spaces);

test.each([
  ["while it arrives", head("POST /v1/intents", api_key, chunked), inChunks, 413],
  ["by its length", head("POST /v1/intents", api_key, announced), whole, 413],
  ["for its key", head("POST /v1/intents", "cs_live_nobody", chunked), inChunks, 401],
  ["for its path", head("POST /v1/nothing", api_key, announced), whole, 404],
])("refused %s, the body is dropped and the next request is answered", async (_, first, body, status) => {
  const bytes = Buffer.concat([first, ...body, next]);
  const { statuses } = await rawRequest(port, bytes, { quiet_ms: 30_000 });
  expect(statuses).toEqual([status, 200]);
});
