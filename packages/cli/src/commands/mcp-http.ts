/** Options of `countersign mcp` for a server behind HTTP. */
import { validateHeaderName, validateHeaderValue } from "node:http";
import { isIP } from "node:net";
import type { Command } from "commander";
import { CommandFailed } from "../command-failed.ts";
import type { Terminal } from "../terminal.ts";

export interface HttpOptions {
  readonly http?: string;
  readonly header: readonly string[];
  readonly headerEnv: readonly string[];
  readonly listen?: string;
  readonly allowHost: readonly string[];
  readonly allowOrigin: readonly string[];
}

/** A ping through the stream for clients and proxies that close silent connections. */
const keep_alive_ms = 15_000;

const collected = (value: string, before: readonly string[]): readonly string[] => [...before, value];

export function addHttpOptions(command: Command): void {
  command
    .option("--http <url>", "the endpoint of a server behind HTTP (Streamable HTTP), instead of a command")
    .option("--header <name: value>", "a header for the server; repeatable", collected, [])
    .option(
      "--header-env <name=variable>",
      "a header whose value is in this environment variable; repeatable",
      collected,
      [],
    )
    .option(
      "--listen <[host:]port>",
      "with --http: serve clients over HTTP (default host: 127.0.0.1), not standard input",
    )
    .option("--allow-host <name>", "a host name by which clients reach --listen; repeatable", collected, [])
    .option("--allow-origin <origin>", "an origin whose web pages may use --listen; repeatable", collected, []);
}

/** Headers that the proxy writes itself, apart from `mcp-*`. */
const ownHeaders: readonly string[] = [
  ...["host", "connection", "content-length", "content-type", "content-encoding", "transfer-encoding", "te", "trailer"],
  ...["upgrade", "expect", "keep-alive", "accept", "accept-encoding", "last-event-id"],
];

/** Returns the server of `--http`; null without it. */
export function httpServer(
  options: HttpOptions,
  env: Terminal["env"],
): { server_url: URL; headers: Record<string, string> } | null {
  const { http, header, headerEnv, listen, allowHost, allowOrigin } = options;
  if (http === undefined) {
    const given = header.length + headerEnv.length + allowHost.length + allowOrigin.length > 0 || listen !== undefined;
    if (given) throw new CommandFailed("--header, --header-env, --listen, --allow-host and --allow-origin need --http");
    return null;
  }
  if (listen === undefined && allowHost.length + allowOrigin.length > 0)
    throw new CommandFailed("--allow-host and --allow-origin need --listen");
  const server_url = URL.canParse(http) ? new URL(http) : null;
  const is_address = server_url !== null && /^https?:$/.test(server_url.protocol) && server_url.hash === "";
  if (!is_address || server_url.username !== "" || server_url.password !== "")
    throw new CommandFailed("--http takes an address such as https://tools.example/mcp, without user, password and #");
  const lines = [...header.map((line) => named(line, ":")), ...headerEnv.map((line) => fromEnv(line, env))];
  return { server_url, headers: Object.fromEntries(lines) };
}

function fromEnv(line: string, env: Terminal["env"]): [string, string] {
  const [name, variable] = named(line, "=");
  const value = env[variable] ?? "";
  if (value === "") throw new CommandFailed(`--header-env: the environment variable ${variable} is not set`);
  return checked("--header-env", name, value);
}

function named(line: string, separator: string): [string, string] {
  const at = line.indexOf(separator);
  const option = separator === ":" ? "--header" : "--header-env";
  if (at < 1) throw new CommandFailed(`${option} takes a name, "${separator}" and a value`);
  return checked(option, line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim());
}

/** Does not print the value, which may be a secret. */
function checked(option: string, name: string, value: string): [string, string] {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch {
    throw new CommandFailed(`${option}: this is not an HTTP header`);
  }
  if (ownHeaders.includes(name) || name.startsWith("mcp-"))
    throw new CommandFailed(`${option}: the proxy itself writes the header ${name}`);
  return [name, value];
}

/** Returns where to listen; null without `--listen`. */
export function listenAddress({ listen, allowHost, allowOrigin }: HttpOptions) {
  if (listen === undefined) return null;
  const [, ipv6, name = "127.0.0.1", digits = ""] = /^(?:(?:\[([\da-f:.]+)\]|([^:[\]]+)):)?(\d+)$/i.exec(listen) ?? [];
  const port = Number(digits);
  if (digits === "" || port > 65_535)
    throw new CommandFailed("--listen takes a port, or host:port, such as 8090 or 127.0.0.1:8090");
  const host = (ipv6 ?? name).toLowerCase();
  return { host, port, keep_alive_ms, hosts: hostNames(host, allowHost), origins: allowOrigin.map(originOf) };
}

/** Returns the names in `Host` that clients of this address use. */
function hostNames(host: string, allowed: readonly string[]): string[] {
  const own = isIP(host) === 6 ? `[${host}]` : host;
  return [own, "localhost", "127.0.0.1", "[::1]", ...allowed.map((name) => name.toLowerCase())];
}

function originOf(text: string): string {
  if (!URL.canParse(text) || new URL(text).origin !== text.toLowerCase())
    throw new CommandFailed("--allow-origin takes an origin such as https://app.example, without a path");
  return text.toLowerCase();
}
