import { Client, type ClientOptions, InMemoryTransport } from "@modelcontextprotocol/client";
import type { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { onTestFinished } from "vitest";
import type { Governor, GovernorOptions } from "../governor.ts";

export const revision = "2026-07-28";

type Ends = Pick<GovernorOptions, "toServer" | "toClient">;

/** Connects the protocol's own client and server of revision 2026-07-28 through the governor that `make` returns. */
export async function connectedThrough<Made extends { readonly governor: Governor }>(
  make: (ends: Ends) => Made,
  server: () => McpServer,
  options: ClientOptions = {},
) {
  const [clientEnd, governorOfClient] = InMemoryTransport.createLinkedPair();
  const [serverEnd, governorOfServer] = InMemoryTransport.createLinkedPair();
  const made = make({
    toServer: (said) => void governorOfServer.send(JSON.parse(said)),
    toClient: (said) => void governorOfClient.send(JSON.parse(said)),
  });
  const { governor } = made;
  governorOfClient.onmessage = (message) => governor.fromClient(JSON.stringify(message));
  governorOfServer.onmessage = (message) => governor.fromServer(JSON.stringify(message));
  await Promise.all([governorOfClient.start(), governorOfServer.start()]);
  const serving = serveStdio(server, { transport: serverEnd, legacy: "reject" });
  const terms = { ...options, versionNegotiation: { mode: { pin: revision } } };
  const client = new Client({ name: "desk", version: "1" }, terms);
  const connect = () => client.connect(clientEnd);
  onTestFinished(async () => {
    await Promise.all([client.close(), serving.close(), governor.end()]);
  });
  return { ...made, client, connect };
}
