/** The running service that a command talks to. */
import { type Client, createClient, type TransportOptions } from "@countersign/sdk";
import { InvalidArgumentError } from "commander";

/** The value of `--url`: where a service answers. */
export function serviceUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && ["http:", "https:"].includes(url.protocol)) return text;
  throw new InvalidArgumentError("give an address such as http://127.0.0.1:8080.");
}

/** A client with the key of `--api-key`, else of COUNTERSIGN_API_KEY; where both are empty without any, as in open mode. */
export function serviceClient(
  { url, apiKey }: { readonly url: string; readonly apiKey?: string },
  options: Pick<TransportOptions, "retries_max"> = {},
): Client {
  const api_key = apiKey ?? process.env["COUNTERSIGN_API_KEY"];
  return createClient({ base_url: url, ...(api_key === undefined || api_key === "" ? {} : { api_key }), ...options });
}
