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
  return `that address does not answer like Countersign${said}: give the service's address with --url`;
}

/** Statuses of proxies whose service is away. */
const outages: readonly number[] = [502, 503, 504];

export interface ServiceOptions {
  readonly url: string;
  readonly apiKey?: string;
}

export function urlOption(description = "the service"): Option {
  return new Option("--url <url>", description).argParser(serviceUrl).default("http://127.0.0.1:8080");
}

export function keyOption(key = "API key"): Option {
  return new Option("--api-key <key>", `${key} (default: COUNTERSIGN_API_KEY; none in open mode)`);
}

function serviceUrl(text: string): string {
  try {
    createClient({ base_url: text });
  } catch {
    throw new InvalidArgumentError("give an address such as http://127.0.0.1:8080, without user, password, ? and #.");
  }
  return text;
}

/**
 * Returns a client with the key of `--api-key`, otherwise of COUNTERSIGN_API_KEY. Uses no key if both are empty, as in
 * open mode.
 */
export function serviceClient(
  { env }: Terminal,
  { url, apiKey }: ServiceOptions,
  options: Pick<TransportOptions, "retries_max" | "fetch" | "wait" | "agent_token"> = {},
): Client {
  const api_key = apiKey ?? env["COUNTERSIGN_API_KEY"];
  return createClient({ base_url: url, ...(api_key === undefined || api_key === "" ? {} : { api_key }), ...options });
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
