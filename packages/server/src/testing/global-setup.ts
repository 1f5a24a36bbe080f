/** Vitest's global set-up: offers test files a PostgreSQL server, started only when the first of them asks. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestProject } from "vitest/node";
import { startTestServer, type TestServer } from "./database/test-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where `testDatabase()` asks for the server: `http://127.0.0.1:<port>/`. */
    test_database_broker: string;
  }
}

/** Most runs concern no database; they pay for a listening socket instead of an initdb. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
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
  project.provide("test_database_broker", `http://127.0.0.1:${(broker.address() as AddressInfo).port}/`);
  return async () => {
    broker.closeAllConnections();
    await new Promise((resolve) => broker.close(resolve));
    await (await server?.catch(() => undefined))?.stop();
  };
}
