/** Checks receiver URLs without network access. */
import { limits } from "@countersign/contract";
import type { NetworkList } from "../access/client-ip.ts";
import { readUrl } from "../values/read-url.ts";
import { addressRefusal } from "./public-address.ts";

/** Exceptions that the operator permits. */
export interface WebhookUrlRules {
  readonly allow_http: boolean;
  /** Also permits local names. Cloud metadata names stay refused. */
  readonly allow_networks: NetworkList;
}

export const publicHttpsOnly: WebhookUrlRules = { allow_http: false, allow_networks: [] };

/** `href` is normalized, stored and dialled. */
export type WebhookUrlVerdict =
  | {
      readonly href: string;
      /** Without trailing dot or brackets. */
      readonly host: string;
      /** True: an address, already checked. False: the caller must check every address of the name. */
      readonly literal: boolean;
    }
  | { readonly refused: string };

/** Outside public DNS, like single-label names. */
const localSuffixes = ["localhost", "local", "internal", "lan", "home.arpa", "localdomain", "svc", "cluster.local"];

/** Outside any DNS (RFC 7686, RFC 9476). */
const foreignSuffixes = ["onion", "alt"];

const metadataSuffixes = ["metadata.goog", "metadata.google.internal", "instance-data", "instance-data.ec2.internal"];

/** Lower-case ASCII with labels of 1 to 63 characters. */
const nameForm = /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/;
const name_chars_max = 253;

/** Blocked by the Fetch standard: such services could execute a POST. */
const otherProtocols: ReadonlySet<number> = new Set([
  ...[0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104],
  ...[109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515],
  ...[526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659],
  ...[4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080],
]);

/**
 * Checks the parsed URL, because that is dialled; only the userinfo is checked in the text. The caller must look up
 * names next.
 */
export function checkWebhookUrl(text: string, rules: WebhookUrlRules = publicHttpsOnly): WebhookUrlVerdict {
  if (/\p{Cc}/u.test(text)) return { refused: "The URL contains a control character." };
  if (text !== text.trim()) return { refused: "The URL begins or ends with a space." };
  const scheme = /^(https?):\/\/(?!\/)/i.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined || (scheme === "http" && !rules.allow_http)) {
    return { refused: "The URL is not an absolute https URL." };
  }
  // The parser drops an empty userinfo, and ends the host at a backslash, unlike other programs.
  const authority = /^[^:]+:\/\/([^/?#]*)/.exec(text)?.[1] ?? "";
  if (authority.includes("@")) return { refused: "The URL has a user:password part." };
  const url = readUrl(text);
  if (url === null) return { refused: "The URL has no valid host or port." };
  if (url.href.length > limits.webhook_url_chars_max) {
    return { refused: `The URL is longer than ${limits.webhook_url_chars_max} characters.` };
  }
  if (url.port !== "" && otherProtocols.has(Number(url.port))) {
    return { refused: `Port ${url.port} belongs to another protocol.` };
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  const literal = url.hostname.startsWith("[") || /^\d+(\.\d+){3}$/.test(host);
  const refused = literal ? refusedLiteral(host, rules) : refusedName(host, rules);
  return refused === null ? { href: url.href, host, literal } : { refused };
}

/** One refused address refuses all, because a socket may choose any. */
export function refusedAddresses(host: string, addresses: readonly string[], rules: WebhookUrlRules): string | null {
  for (const address of addresses) {
    const refusal = addressRefusal(address, rules.allow_networks);
    if (refusal !== null) return `${host} leads to ${address}, which ${refusal}.`;
  }
  return null;
}

function refusedLiteral(host: string, rules: WebhookUrlRules): string | null {
  const refusal = addressRefusal(host, rules.allow_networks);
  return refusal === null ? null : `${host} ${refusal}.`;
}

function refusedName(host: string, rules: WebhookUrlRules): string | null {
  // The parser accepts "localhost..", "*.example.com" and "a,b", which would bypass the rules below.
  if (host.length > name_chars_max || !nameForm.test(host)) return "The URL has no valid host or port.";
  const isUnder = (suffix: string) => host === suffix || host.endsWith(`.${suffix}`);
  if (metadataSuffixes.some(isUnder)) return `${host} is a name of cloud metadata.`;
  const foreign = foreignSuffixes.find((suffix) => host.endsWith(`.${suffix}`));
  if (foreign !== undefined) return `Names under ${foreign} have no address, because they are not part of DNS.`;
  if (rules.allow_networks.length > 0) return null;
  if (!host.includes(".")) return `${host} is a name of a private network.`;
  const suffix = localSuffixes.find(isUnder);
  return suffix === undefined ? null : `Names under ${suffix} are names of a private network.`;
}
