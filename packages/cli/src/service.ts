/** The running service that a command talks to. */
import { ApiError, type Client, ConnectionError, createClient, type TransportOptions } from "@countersign/sdk";
import { InvalidArgumentError, Option } from "commander";
import { CommandFailed } from "./command-failed.ts";
import type { Terminal } from "./terminal.ts";

/** How a key reaches a command, for whoever gave none or one that is not good enough. */
const key_hint = "(give a key with --api-key or COUNTERSIGN_API_KEY)";

/** For whom nobody answered. */
export const start_hint = "Is the service running there? `npm start` or `countersign serve` starts it.";

/** What to say of an answer that no service gives; `answer` is what it said, empty where it does not tell much. */
export function strangerText(answer: string): string {
  const said = answer === "" ? "" : ` (${answer})`;
  return `that address does not answer like Countersign${said}: give the service's address with --url`;
}

/** Of proxies before a service that is away. */
const outages: readonly number[] = [502, 503, 504];

/** What commands that talk to a service are given: the values of the two options below. */
export interface ServiceOptions {
  readonly url: string;
  readonly apiKey?: string;
}

/** `--url`: where a service answers. */
export function urlOption(description = "the service"): Option {
  return new Option("--url <url>", description).argParser(serviceUrl).default("http://127.0.0.1:8080");
}

/** `--api-key`, and where it is left out the environment. */
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

/** A client with the key of `--api-key`, else of COUNTERSIGN_API_KEY; where both are empty without any, as in open mode. */
export function serviceClient(
  { env }: Terminal,
  { url, apiKey }: ServiceOptions,
  options: Pick<TransportOptions, "retries_max" | "fetch" | "wait" | "agent_token"> = {},
): Client {
  const api_key = apiKey ?? env["COUNTERSIGN_API_KEY"];
  return createClient({ base_url: url, ...(api_key === undefined || api_key === "" ? {} : { api_key }), ...options });
}

/**
 * What the service refused, or that nobody answered, for the person at the terminal: the message, and a line for each place
 * that it names. Null for what is no answer of a service.
 */
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

/** Returns what the service answers. Throws CommandFailed with `refusalText` if it refuses, or if nobody answers. */
export async function answered<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const text = refusalText(error);
    throw text === null ? error : new CommandFailed(text);
  }
}
