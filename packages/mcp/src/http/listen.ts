import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Remote } from "./remote.ts";
import { ReverseProxy, type ReverseProxyOptions } from "./reverse-proxy.ts";

export interface ListenOptions extends Omit<ReverseProxyOptions, "remote"> {
  /** The server's endpoint. Clients find the proxy at the same path. */
  readonly server_url: URL;
  /** Go to the server with each request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly host: string;
  readonly port: number;
  readonly signal: AbortSignal;
  /** At the end, conversations have this time to record what happened. */
  readonly patience_ms: number;
  readonly onListening: (url: string) => void;
}

/** Longer than the idle time of common load balancers, which would use a connection that was just closed. */
const keep_alive_timeout_ms = 72_000;

/** Serves until the signal. Rejects if the address cannot be used. */
export async function listenForClients(options: ListenOptions): Promise<void> {
  const { server_url, headers, host, port, signal, patience_ms, onListening } = options;
  const remote = new Remote(server_url, headers);
  const proxy = new ReverseProxy({ ...options, remote });
  const answering = new Set<Promise<void>>();
  const server = createServer({ keepAliveTimeout: keep_alive_timeout_ms }, (request, response) => {
    const answered = new Promise<void>((resolve) => response.once("close", () => resolve()));
    answering.add(answered);
    void answered.then(() => answering.delete(answered));
    void proxy.handle(request, response);
  });
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, resolve);
  });
  const { address, family, port: chosen } = server.address() as AddressInfo;
  onListening(`http://${family === "IPv6" ? `[${address}]` : address}:${chosen}${server_url.pathname}`);
  await aborted;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, patience_ms);
  });
  await Promise.race([proxy.end().then(() => Promise.all(answering)), patience]);
  clearTimeout(timer);
  server.closeAllConnections();
  await closed;
  remote.close();
}
