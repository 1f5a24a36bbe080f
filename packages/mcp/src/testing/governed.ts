/** A governor between a client, a server and a service that the test plays. */
import { vi } from "vitest";
import { createGovernor, type GovernorOptions } from "../governor.ts";
import { type Answering, fakeService, governorTerms } from "./fake-service.ts";

const tools = ["pay", "look", "peek", "other", "send_money"].map((name) => ({ name }));

/**
 * Returns a governor whose service decides by `answering`, unless the test has its own service (`client`). The client
 * has listed the tools, unless the test has its own server (`toServer`).
 */
export function governed(answering?: Answering, terms: Partial<GovernorOptions> = {}) {
  const toServer: string[] = [];
  const toClient: string[] = [];
  const notes: string[] = [];
  const { client, ...service } = fakeService(answering);
  const governor = createGovernor({
    ...{ ...governorTerms, client },
    toServer: (line) => toServer.push(line),
    toClient: (line) => toClient.push(line),
    note: (text) => notes.push(text),
    ...terms,
  });
  if (terms.toServer === undefined) {
    governor.fromClient(line({ id: "list", method: "tools/list" }));
    governor.fromServer(line({ id: "list", result: { tools } }));
    for (const lines of [toServer, toClient]) lines.length = 0;
  }
  return { governor, toServer, toClient, notes, ...service };
}

export const line = (message: object) => JSON.stringify({ jsonrpc: "2.0", ...message });
export const callOf = (id: unknown, name: unknown = "pay", given: unknown = { n: 1 }) =>
  line({ id, method: "tools/call", params: { name, arguments: given } });
export const soon = (holds: () => void) => vi.waitFor(holds);
