/** A network between a session and its database that a test can break. */
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Socket } from "node:net";
import { join } from "node:path";
import type { ConnectionOptions } from "../../store/database/connection.ts";

export interface Network {
  readonly connection: ConnectionOptions;
  /** Silently stops traffic. New connections work unless `new_ones`. */
  swallow(options?: { readonly new_ones: boolean }): void;
  /** Ends all connections. New ones work. The server still runs the statements that it got. */
  cut(): void;
  asked(): number;
  close(): Promise<void>;
}

/** With several databases, connections take turns. */
export async function openNetwork(connection: ConnectionOptions, ...others: ConnectionOptions[]): Promise<Network> {
  const targets = [connection, ...others].map(targetOf);
  const ends = new Set<Socket>();
  let silent = false;
  let asked = 0;
  const server = createServer((near) => {
    const target = targets[asked % targets.length] as NetConnectOpts;
    asked += 1;
    if (silent) return void ends.add(near.on("error", () => undefined));
    const far = connect(target);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      ends.add(from);
      from.on("error", () => undefined).on("close", () => to.destroy());
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    connection: through(connection, (server.address() as AddressInfo).port),
    swallow({ new_ones } = { new_ones: false }) {
      for (const end of ends) end.unpipe().pause();
      silent = new_ones;
    },
    cut() {
      for (const end of ends) end.destroy();
      ends.clear();
    },
    asked: () => asked,
    close() {
      for (const end of ends) end.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function targetOf(connection: ConnectionOptions): NetConnectOpts {
  if (!("connectionString" in connection)) return { path: join(connection.host, `.s.PGSQL.${connection.port}`) };
  const { hostname, port } = new URL(connection.connectionString);
  return { host: hostname, port: Number(port === "" ? 5432 : port) };
}

function through(connection: ConnectionOptions, port: number): ConnectionOptions {
  if (!("connectionString" in connection)) return { ...connection, host: "127.0.0.1", port };
  const url = new URL(connection.connectionString);
  url.host = `127.0.0.1:${port}`;
  return { connectionString: url.href };
}
