import { limits, type RateCategory, rateCategories, type SettingFormat } from "@countersign/contract";
import { readUrl as parseUrl, parseVerifierKey, signatureTypes, type VerifierKey } from "@countersign/core";
import ipaddr from "ipaddr.js";
import { hostUrls } from "../../store/database/host-urls.ts";

/** `expected` describes a correct text. */
export type Reading = { readonly value: unknown } | { readonly expected: string };

/** Without conversion: `yes` is not a boolean, `8e3` is not a number. */
export function readValue(text: string, format: SettingFormat): Reading {
  if (hasControls(text)) return { expected: "text without control characters" };
  switch (format.kind) {
    case "text":
    case "path":
      return { value: text };
    case "url":
      return readUrl(text, format.schemes);
    case "url_list":
      return readUrls(text, format.schemes);
    case "integer":
      return readInteger(text, format.min, format.max);
    case "count_or_auto": {
      const reading = text === "auto" ? { value: text } : readInteger(text, 1, format.max);
      return "value" in reading ? reading : { expected: `${reading.expected}, or auto` };
    }
    case "choice":
      return format.of.includes(text) ? { value: text } : { expected: `one of ${format.of.join(", ")}` };
    case "boolean":
      return text === "true" || text === "false" ? { value: text === "true" } : { expected: "true or false" };
    case "cidr_list":
      return readList(text, readCidr, "a comma list of CIDRs such as 10.0.0.0/8,fd00::/8");
    case "base64_bytes":
      return readBase64(text, format.bytes);
    case "base64_list":
      return readBase64List(text, format.bytes);
    case "witness_list":
      return readWitnesses(text);
    case "rate_limits":
      return readRateLimits(text);
    default:
      return format satisfies never;
  }
}

function readWitnesses(text: string): Reading {
  const expected =
    "different witnesses in a comma list, each an http or https URL, a space, and a verifier key for cosignatures, such as " +
    "https://witness.example.com/ witness.example.com/w1+8d66cf3f+BK…";
  const witnesses = text.split(",").map((each) => readWitness(each.trim()));
  const found = witnesses.filter((each) => each !== null);
  const names = new Set(found.map(({ key }) => key.name));
  const right = found.length === witnesses.length && names.size === found.length;
  return right && found.length <= limits.log_witnesses_max ? { value: found } : { expected };
}

function readWitness(text: string): { url: string; key: VerifierKey } | null {
  const [address = "", key_text = "", ...more] = text.split(" ");
  const url = parseUrl(address);
  const key = parseVerifierKey(key_text);
  if (url === null || !/^https?:$/.test(url.protocol) || key === null || more.length > 0) return null;
  const right = key.type === signatureTypes.cosignature && key.name.length <= limits.log_witness_name_chars_max;
  return right ? { url: address.replace(/\/+$/, ""), key } : null;
}

function hasControls(text: string): boolean {
  return [...text].some((c) => c < " " || c === "\u007f");
}

function readUrl(text: string, schemes: readonly string[]): Reading {
  const expected = `a URL that starts with ${schemes.map((scheme) => `${scheme}://`).join(" or ")}`;
  const scheme = /^([a-z]+):\/\//.exec(text)?.[1];
  if (scheme === undefined || !schemes.includes(scheme)) return { expected };
  const lists = scheme.startsWith("postgres");
  const urls = lists ? hostUrls(text) : [text];
  // postgres://user@/db?host=/run/postgresql names a socket, but is not a WHATWG URL.
  const readable = urls?.every((url) => (parseUrl(url) ?? parseUrl(url.replace("@/", "@socket/"))) !== null);
  if (readable) return { value: text };
  const hosts = lists ? "one host or a list such as a:5432,b:5432, ports" : "one host and a port";
  return { expected: `a URL with ${hosts} of digits, user and password percent-encoded where they need it` };
}

/** Each URL must be different and name one server. */
function readUrls(text: string, schemes: readonly string[]): Reading {
  const urls = text.split(/ +/);
  for (const url of urls) {
    const reading = readUrl(url, schemes);
    if ("expected" in reading) return { expected: `URLs separated by spaces, each ${reading.expected}` };
    if (url.includes(",") || hostUrls(url)?.length !== 1)
      return { expected: "URLs separated by spaces, one server in each, and no commas" };
  }
  return new Set(urls).size === urls.length ? { value: urls } : { expected: "each URL once" };
}

function readInteger(text: string, min: number, max: number): Reading {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? { value } : { expected: `a whole number from ${min} to ${max}` };
}

function readBase64(text: string, bytes: number): Reading {
  const value = Buffer.from(text, "base64");
  // Buffer ignores characters that are not base64.
  if (value.length === bytes && value.toString("base64") === text) return { value };
  return { expected: `${bytes} bytes in base64, as \`openssl rand -base64 ${bytes}\` prints them` };
}

function readBase64List(text: string, bytes: number): Reading {
  const keys = text.split(",").map((item) => readBase64(item.trim(), bytes));
  const texts = new Set(text.split(",").map((item) => item.trim()));
  if (texts.size === keys.length && keys.every((key) => "value" in key))
    return { value: keys.map((key) => "value" in key && key.value) };
  return {
    expected: `a comma list of different keys, each ${bytes} bytes in base64 as \`openssl rand -base64 ${bytes}\` prints them`,
  };
}

function readCidr(text: string): string | null {
  return ipaddr.isValidCIDR(text) ? text : null;
}

const names = Object.keys(rateCategories) as RateCategory[];

/** Reads limits of any category. `expected` lists `named`. */
export function readRateLimits(
  text: string,
  named: readonly string[] = names,
): { readonly value: Readonly<Partial<Record<RateCategory, number>>> } | { readonly expected: string } {
  const expected = `category=requests pairs such as intents=6000,general=600; categories: ${named.join(", ")}; 1 to 1000000 requests per minute`;
  const limits: Partial<Record<RateCategory, number>> = {};
  for (const pair of text.split(",")) {
    const [, name, digits] = /^([a-z_]+)=(\d{1,7})$/.exec(pair.trim()) ?? [];
    const category = names.find((known) => known === name);
    const limit = Number(digits);
    if (category === undefined || limit < 1 || limit > 1_000_000 || limits[category] !== undefined) return { expected };
    limits[category] = limit;
  }
  return { value: limits };
}

function readList(text: string, readItem: (item: string) => string | null, expected: string): Reading {
  const items = text.split(",").map((item) => readItem(item.trim()));
  return items.includes(null) ? { expected } : { value: items };
}
