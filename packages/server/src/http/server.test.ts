import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { connect } from "node:net";
import { operationRows } from "@countersign/contract";
import { expect, test } from "vitest";
import { timers } from "../edge/timers.ts";
import { createMetrics } from "./metrics.ts";
import type { RouterDeps } from "./router.ts";
import { buildServer } from "./server.ts";

const depsOf = () =>
  ({
    ids: { next: () => "req_1" },
    log: { info: () => undefined },
    metrics: createMetrics(),
    handlers: Object.fromEntries(operationRows.map(([id]) => [id, () => undefined])),
  }) as unknown as RouterDeps;

test("on localhost, all its addresses reach the server, and close ends them", async () => {
  const app = buildServer({ ...depsOf(), timers });
  const port = Number(new URL(await app.listen({ host: "localhost", port: 0 })).port);
  const addresses = new Set((await lookup("localhost", { all: true })).map(({ address }) => address));
  expect(addresses.size).toBeGreaterThan(0);
  for (const address of addresses) {
    const socket = connect(port, address, () => void socket.write("no request\r\n\r\n"));
    const [answer] = await once(socket, "data");
    expect(String(answer)).toMatch(/^HTTP\/1\.1 400 Bad Request/);
  }
  await app.close();
  for (const address of addresses) {
    const [error] = await once(connect(port, address), "error");
    expect(error.code).toBe("ECONNREFUSED");
  }
});

test("a new connection may still send a request when the server ends", async () => {
  let end = (): void => undefined;
  const after = (_wait_ms: number, run: () => void) => {
    end = run;
    return () => undefined;
  };
  const app = buildServer({ ...depsOf(), timers: { after } });
  const port = Number(new URL(await app.listen({ host: "127.0.0.1", port: 0 })).port);
  const [asking, silent] = [connect(port, "127.0.0.1"), connect(port, "127.0.0.1")];
  const connections = () => new Promise((resolve) => app.server.getConnections((_error, count) => resolve(count)));
  await expect.poll(connections).toBe(2);
  const closing = app.close();
  asking.write("no request\r\n\r\n");
  const [answer] = await once(asking, "data");
  expect(String(answer)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n(.+\r\n)*Connection: close\r\n/i);
  const ended = once(silent.resume(), "end");
  end();
  await Promise.all([ended, closing]);
});
