import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { operations } from "@countersign/contract";
import { expect, test } from "vitest";
import { ClientGone, readBody } from "./body.ts";

function post(length: number, holder: string, type = "application/json") {
  const stream = new PassThrough();
  const headers = { "content-type": type, "content-length": String(length) };
  const response = new EventEmitter() as unknown as ServerResponse;
  const request = Object.assign(stream, { headers }) as unknown as IncomingMessage;
  const read = readBody(request, response, operations.submitIntentBatch, () => holder);
  return { stream, read, leave: () => [stream.destroy(), response.emit("close")] };
}

test("announced bodies reserve no room, and one caller's bodies leave room for another's", async () => {
  const announced = Array.from({ length: 64 }, (_, n) => post(8_388_608, `caller ${n}`));
  for (const { stream } of announced) stream.write("{");
  const sent = Array.from({ length: 12 }, () => post(8_388_608, "greedy"));
  for (const { stream } of sent) stream.write(`{"x": "${"a".repeat(4_000_000)}`);
  const refused = await Promise.allSettled(sent.slice(4).map(({ read }) => read));
  expect(refused).toMatchObject(refused.map(() => ({ reason: { code: "overloaded" } })));

  const text = JSON.stringify({ x: "a".repeat(70_000) });
  const other = post(text.length, "another");
  other.stream.end(text);
  expect((await other.read).length).toBe(text.length);

  other.leave();
  for (const { leave } of [...announced, ...sent]) leave();
  const left = await Promise.allSettled([...announced, ...sent.slice(0, 4)].map(({ read }) => read));
  for (const each of left) expect(each).toMatchObject({ status: "rejected", reason: expect.any(ClientGone) });
});

test.each([
  ["application/json", true],
  ["Application/JSON; Charset=UTF-8", true],
  ['application/json; charset="utf-8"', true],
  ['application/json;charset="UTF-8"; v=1', true],
  ["application/json; profile=x; charset=utf-8", true],
  ["application/json; charset=UTF8", true],
  ['application/json; charset="utf8"', true],
  ["application/json; charset=utf80", false],
  ["application/json; charset=utf-16", false],
  ['application/json; charset="utf-16"', false],
  ['application/json; charset="utf-8', false],
  ["application/json; charset=utf-80", false],
  ["application/jsonx", false],
])("%j is JSON: %s", async (type, accepted) => {
  const { stream, read } = post(2, "caller", type);
  stream.end("{}");
  const outcome = read.then(
    () => true,
    (error: { code?: string }) => error.code !== "unsupported_media_type",
  );
  expect(await outcome).toBe(accepted);
});
