/** Ways from a client to a server: without and with the proxy. */
import { cliProgram } from "../../packages/cli/src/testing/start-cli.ts";

export interface Access {
  readonly url: string;
  readonly api_key: string;
}

export interface Through {
  /** Returns the command that a client starts to reach the server that this command starts. */
  command(server: readonly string[]): readonly [string, ...string[]];
  /** Returns the proxy's command to reach the server at this address, or null: the client goes to the address. */
  proxyOf(url: string): readonly [string, ...string[]] | null;
  /** Returns the proxy's command to reach the server at this address over standard input and output, or null. */
  bridgeOf(url: string): readonly [string, ...string[]] | null;
}

export const direct: Through = {
  command: ([command = "", ...args]) => [command, ...args],
  proxyOf: () => null,
  bridgeOf: () => null,
};

export function governed({ url, api_key }: Access, options: readonly string[] = []): Through {
  const proxy = [process.execPath, ...cliProgram, "mcp", "--url", url, "--api-key", api_key, ...options] as const;
  return {
    command: (server) => [...proxy, "--", ...server],
    proxyOf: (server_url) => [...proxy, "--http", server_url, "--listen", "127.0.0.1:0"],
    bridgeOf: (server_url) => [...proxy, "--http", server_url],
  };
}

/** Nothing else, so that both ways see the same. */
export const environment = { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "" };
