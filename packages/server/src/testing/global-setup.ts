/** Offers test files a PostgreSQL server, which starts on first use. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestProject } from "vitest/node";
import { startTestServer, type TestServer } from "./database/test-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    test_database_broker: string;
  }
}

/** Two projects need the server. The second finds its address here. */
const address_variable = "TEST_DATABASE_BROKER";

/** Runs without a database run no initdb. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const running = process.env[address_variable];
  if (running !== undefined) {
    project.provide("test_database_broker", running);
    return async () => undefined;
  }
  let server: Promise<TestServer> | undefined;
  const broker = createServer(async (_request, response) => {
    server ??= startTestServer();
    try {
      response.end(JSON.stringify((await server).access));
    } catch (error) {
      response.writeHead(500).end(String(error instanceof Error ? error.stack : error));
    }
  });
  await new Promise<void>((resolve) => broker.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(broker.address() as AddressInfo).port}/`;
  process.env[address_variable] = address;
  project.provide("test_database_broker", address);
  return async () => {
    delete process.env[address_variable];
    broker.closeAllConnections();
    await new Promise((resolve) => broker.close(resolve));
    await (await server?.catch(() => undefined))?.stop();
  };
}
