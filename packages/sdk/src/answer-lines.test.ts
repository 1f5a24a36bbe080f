import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { ConnectionError } from "./index.ts";
import { serve } from "./testing/serve.ts";

const lines =
  (...texts: readonly string[]) =>
  (response: ServerResponse) =>
    void response
      .writeHead(200, { "content-type": "application/x-ndjson; charset=utf-8" })
      .end(texts.map((text) => `${text}\n`).join(""));
const window = { from: "2026-01-01T00:00:00Z", to: "2026-02-01T00:00:00Z" };
const progress = { state: "running", evaluated: 1, done: 0.5, elapsed_ms: 3 } as const;

test("an answer in lines is passed on line by line; the last line is the answer", async () => {
  const { client, received } = await serve(
    lines(JSON.stringify({ progress }), JSON.stringify({ backtest: { evaluated: 2, note: "é€😀" } })),
  );
  const heard: unknown[] = [];
  const result = await client.backtest({ window }, { on_progress: (each) => void heard.push(each) });
  expect(result).toEqual({ evaluated: 2, note: "é€😀" });
  expect(heard).toEqual([progress]);
  expect(received[0]?.headers.accept).toBe("application/x-ndjson");
});

test("an error in the last line is thrown like one with a status of its own", async () => {
  const error = { code: "unavailable", message: "it stops", details: [], request_id: "req_1" };
  const { client } = await serve(lines(JSON.stringify({ progress }), JSON.stringify({ error })));
  const asked = client.backtest({ window }, { on_progress: () => undefined });
  await expect(asked).rejects.toMatchObject({ name: "ApiError", code: "unavailable", request_id: "req_1" });
});

test("aborting while lines come is not a broken connection, for any reason", async () => {
  const { client } = await serve((response) => {
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    response.write(`${JSON.stringify({ progress })}\n`);
  });
  const abort = new AbortController();
  const on_progress = () => abort.abort(new Error("given up"));
  await expect(client.backtest({ window }, { on_progress, signal: abort.signal })).rejects.toThrow(/^given up$/);
});

test("an error of the progress callback is thrown unchanged, and the service sees that the connection is closed", async () => {
  let closed = false;
  const { client } = await serve((response) => {
    response.once("close", () => {
      closed = true;
    });
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    response.write(`${JSON.stringify({ progress })}\n`);
  });
  const on_progress = () => {
    throw new TypeError("no such element");
  };
  await expect(client.backtest({ window }, { on_progress })).rejects.toThrow(new TypeError("no such element"));
  await expect.poll(() => closed).toBe(true);
});

test("a line that is not JSON is a broken connection", async () => {
  const { client } = await serve(lines(JSON.stringify({ progress }), "<html>"));
  await expect(client.backtest({ window })).rejects.toBeInstanceOf(ConnectionError);
});

test("lines that end without an answer are a broken connection", async () => {
  const { client } = await serve(lines(JSON.stringify({ progress })));
  await expect(client.backtest({ window }, { on_progress: () => undefined })).rejects.toBeInstanceOf(ConnectionError);
});
