/** HTTPS receiver with keep-alive. Answers 204, but never answers under `/dead`. */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Certificate } from "../../packages/server/src/testing/network/certificates.ts";

/** Reported every 20 ms while something changes. */
export interface ReceiverNote {
  readonly port: number;
  readonly received: number;
  readonly fast: number;
  /** Milliseconds since 1970. */
  readonly last_at_ms: number;
  /** Arrival times under `/timed`, by path, in milliseconds since 1970. */
  readonly paths: Readonly<Record<string, readonly number[]>>;
}

process.once("message", (certificate: Certificate) => {
  let received = 0;
  let fast = 0;
  let told = -1;
  let last_at_ms = 0;
  const paths: Record<string, number[]> = {};
  const server = createServer({ ...certificate, keepAliveTimeout: 60_000 }, (request, response) => {
    request.resume().on("end", () => {
      const path = request.url ?? "";
      received += 1;
      last_at_ms = Date.now();
      if (path.startsWith("/fast")) fast += 1;
      if (path.startsWith("/timed")) paths[path] = [...(paths[path] ?? []), last_at_ms];
      if (!path.startsWith("/dead")) response.writeHead(204).end();
    });
  });
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo;
    setInterval(() => {
      if (told === received) return;
      told = received;
      process.send?.({ port, received, fast, last_at_ms, paths } satisfies ReceiverNote);
    }, 20);
  });
});
process.once("disconnect", () => process.exit());
