import { InvalidArgumentError } from "commander";

/** The value of `--url`: where a service answers. */
export function serviceUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && ["http:", "https:"].includes(url.protocol)) return text;
  throw new InvalidArgumentError("give an address such as http://127.0.0.1:8080.");
}
