import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { connect } from "node:net";
import { operationRows } from "@countersign/contract";
import { expect, test } from "vitest";
import { timers } from "../edge/timers.ts";
import { createMetrics } from "./metrics.ts";
import type { RouterDeps } from "./router.ts";
import { buildServer } from "./server.ts";

test("on localhost, every address of it reaches the server, and close ends all of them", async () => {
  const deps = {
    ids: { next: () => "req_1" },
    log: { info: () => undefined },
    metrics: createMetrics(),
    handlers: Object.fromEntries(operationRows.map(([id]) => [id, () => undefined])),
  } as unknown as RouterDeps;
  const app = buildServer({ ...deps, timers });
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
