import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { ClientStream } from "./client-stream.ts";

/** Serves one stream: the first request opens it, each other one resumes it after the event in its path. */
async function streaming(act: (stream: ClientStream) => void) {
  let stream: ClientStream | null = null;
  const server = createServer((request, response) => {
    const after = Number(request.url?.slice(1));
    if (stream === null) {
      stream = new ClientStream(response, { id: "7", resumes: true, primes: true, headers: {}, keep_alive_ms: null });
      act(stream);
    } else {
      stream.resume(response, after);
      stream.start();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return async (after = 0) => (await fetch(`${url}/${after}`)).text();
}

test("is JSON if the first message is the last, and events otherwise", async () => {
  const one = await streaming((stream) => stream.finish("{}"));
  expect(await one()).toBe("{}");
  const two = await streaming((stream) => {
    stream.send("1");
    stream.finish("2");
    stream.send("3");
  });
  expect(await two()).toBe("retry: 1000\nid: 7-1\ndata: \n\nid: 7-2\ndata: 1\n\nid: 7-3\ndata: 2\n\n");
  expect(await two(2)).toBe("id: 7-3\ndata: 2\n\n");
});

test("forgets old events beyond its limit, but never the newest", async () => {
  const long = "x".repeat(200_000);
  const read = await streaming((stream) => {
    for (const each of ["a", "b", "c"]) stream.send(each + long);
    stream.finish(`d${long.repeat(3)}`);
  });
  const begins = async () => [...(await read()).matchAll(/^data: (.)/gm)].map(([, first]) => first);
  expect(await begins()).toEqual(["a", "b", "c", "d"]);
  expect(await begins()).toEqual(["c", "d"]);
});
