/** The running service that a command talks to. */
import { ApiError, type Client, ConnectionError, createClient, type TransportOptions } from "@countersign/sdk";
import { InvalidArgumentError, Option } from "commander";
import { CommandFailed } from "./command-failed.ts";
import type { Terminal } from "./terminal.ts";

const key_hint = "(give a key with --api-key or COUNTERSIGN_API_KEY)";

export const start_hint = "Is the service running there? `npm start` or `countersign serve` starts it.";

/** Returns the message for an answer from another program. `answer` may be empty. */
export function strangerText(answer: string): string {
  const said = answer === "" ? "" : ` (${answer})`;
  return `that address does not answer like Countersign${said}: give the service's address with --url or COUNTERSIGN_URL`;
}

/** Statuses of proxies whose service is away. */
const outages: readonly number[] = [502, 503, 504];

export interface ServiceOptions {
  /** Undefined: `--url` was not given. */
  readonly url?: string;
  readonly apiKey?: string;
}

const default_url = "http://127.0.0.1:8080";

export function urlOption(description = "the service"): Option {
  return new Option("--url <url>", `${description} (default: COUNTERSIGN_URL, else ${default_url})`).argParser(
    serviceUrl,
  );
}

export function keyOption(key = "API key"): Option {
  return new Option("--api-key <key>", `${key} (default: COUNTERSIGN_API_KEY; none in open mode)`);
}

const address_hint = `give an address such as ${default_url}, without user, password, ? and #.`;

function serviceUrl(text: string): string {
  if (!isAddress(text)) throw new InvalidArgumentError(address_hint);
  return text;
}

function isAddress(text: string): boolean {
  try {
    createClient({ base_url: text });
    return true;
  } catch {
    return false;
  }
}

/** Returns the address of `--url`, otherwise of COUNTERSIGN_URL, otherwise of a service on this machine. */
export function serviceAddress({ env }: Pick<Terminal, "env">, { url }: ServiceOptions): string {
  const set = env["COUNTERSIGN_URL"] ?? "";
  if (url !== undefined || set === "") return url ?? default_url;
  if (!isAddress(set)) throw new CommandFailed(`COUNTERSIGN_URL is not an address: ${address_hint}`);
  return set;
}

/** Returns the key of `--api-key`, otherwise of COUNTERSIGN_API_KEY; undefined if it is empty or not given. */
export function serviceKey({ env }: Pick<Terminal, "env">, { apiKey }: ServiceOptions): string | undefined {
  return (apiKey ?? env["COUNTERSIGN_API_KEY"]) || undefined;
}

/**
 * Returns a client with the key of `--api-key`, otherwise of COUNTERSIGN_API_KEY. Uses no key if both are empty, as in
 * open mode.
 */
export function serviceClient(
  { env }: Pick<Terminal, "env">,
  service: ServiceOptions,
  options: Pick<TransportOptions, "retries_max" | "fetch" | "wait" | "agent_token"> = {},
): Client {
  return createClient({
    base_url: serviceAddress({ env }, service),
    api_key: serviceKey({ env }, service),
    ...options,
  });
}

/** Returns the message of a refusal or a missing answer, with a line for each named place. Null for other errors. */
export function refusalText(error: unknown): string | null {
  if (error instanceof ConnectionError) return `${error.message}\n${start_hint}`;
  if (!(error instanceof ApiError)) return null;
  if (error.code.startsWith("http_") && !outages.includes(error.status)) return strangerText(error.message);
  const hint = error.status === 401 || error.status === 403 ? ` ${key_hint}` : "";
  const places = error.details.flatMap(({ path, message }) =>
    message === undefined ? [] : [`\n  ${path === "" ? "" : `${String(path)}: `}${String(message)}`],
  );
  return `${error.message}${hint}${places.join("")}`;
}

/** Throws CommandFailed with `refusalText` after a refusal or without an answer. */
export async function answered<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const text = refusalText(error);
    throw text === null ? error : new CommandFailed(text);
  }
}
