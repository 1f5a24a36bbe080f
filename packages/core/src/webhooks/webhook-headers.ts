import { limits, secret_mask } from "@countersign/contract";

/** Headers of HTTP, and those that say what a delivery is. */
const guarded: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
]);
const guardedPrefixes = ["x-service-", "webhook-", "ce-", "proxy-"];
const tokenText = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const visibleText = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

export interface HeaderProblem {
  readonly name: string;
  readonly message: string;
}

/**
 * Returns the headers with names in lower case, or the first problem. A value `***` stands for the stored value of that
 * name, which must be in `known`.
 */
export function readWebhookHeaders(
  given: Readonly<Record<string, string>>,
  known: Readonly<Record<string, string>> = {},
): { readonly headers: Readonly<Record<string, string>> } | { readonly problem: HeaderProblem } {
  const headers = new Map<string, string>();
  for (const [written, value] of Object.entries(given)) {
    const name = written.toLowerCase();
    const kept = value === secret_mask ? Object.entries(known).find(([each]) => each === name)?.[1] : value;
    const message = problemOf(name, kept) ?? (headers.has(name) ? "This header is there twice." : null);
    if (message !== null) return { problem: { name: written, message } };
    headers.set(name, kept as string);
  }
  return { headers: Object.fromEntries(headers) };
}

function problemOf(name: string, value: string | undefined): string | null {
  if (name.length > limits.webhook_header_name_chars_max || !tokenText.test(name))
    return `A header's name has at most ${limits.webhook_header_name_chars_max} letters, digits and hyphens.`;
  if (guarded.has(name) || guardedPrefixes.some((prefix) => name.startsWith(prefix)))
    return "The service sets this header itself. Choose another name.";
  if (value === undefined) return "No value is stored for this header. Send the value.";
  if (!visibleText.test(value))
    return "A header's value has only visible ASCII characters, and spaces between them. It must not be empty.";
  return null;
}
