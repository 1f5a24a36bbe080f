import { type Unknown, unknown } from "@countersign/cel";
import { readUrl } from "../values/read-url.ts";
import { fileExtensions } from "./tables/file-extensions.ts";
import { at, isRecord } from "./text.ts";

/** Parameters with these names hold an address, read as a client reads it. */
const addressWords = new Set(
  ["url", "uri", "href", "link", "host", "hostname", "domain", "website", "webhook", "endpoint"].flatMap((word) => [
    word,
    `${word}s`,
  ]),
);
const entities: ReadonlyMap<string, string> = new Map([
  ...Object.entries({ period: ".", colon: ":", sol: "/", bsol: "\\", commat: "@", quest: "?", num: "#", percnt: "%" }),
  ...Object.entries({ amp: "&", shy: "", zwj: "", zwnj: "", ZeroWidthSpace: "", NoBreak: "", Tab: "", NewLine: "" }),
]);
const entity = /&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|([a-z]{2,14}));?/giu;
const percentCodes = /(?:%[0-9a-f]{2})+/giu;

const letter = String.raw`\p{L}\p{N}\p{M}_`;
const name = String.raw`(?:[${letter}\p{So}-]{1,63}\.)+(?:xn--[a-z0-9-]{1,59}|[\p{L}\p{M}]{2,63})`;
const number = String.raw`\d{1,3}(?:\.\d{1,3}){3}`;
const host = String.raw`(?:${name}|${number}|\[[0-9a-f.]*:[0-9a-f.:]+\])(?!_*[\p{L}\p{N}\p{M}-]|\.[${letter}])`;
const rest = String.raw`[^\s<>"'${"`"}]*`;
const tail = String.raw`(?<port>\.?:\d{1,5})?\.?(?<path>[\\/?#]${rest})?`;

/** Each pattern starts once in a run of characters, so matching stays linear. */
const slashed = new RegExp(
  String.raw`(?:(?<scheme>[a-z][a-z0-9+.-]{0,30}):|(?<![\\/]))(?<slashes>[\\/]{2,})(?<after>[^\s<>"'${"`"}\\/]${rest})`,
  "giu",
);
/** `http:host` and `http:/host`. Clients read both as `http://host`. */
const unslashed = new RegExp(
  String.raw`(?<![a-z0-9])(?:https?|ftp|wss?):[\\/]?(?<after>[^\s<>"'${"`"}\\/]${rest})`,
  "giu",
);
const contact = /(?<![a-z0-9])(?:mailto|tel):[^\s<>"'`|]+/giu;
/** Windows share: `\\host\share`. */
const share = /(?<![^\s"'(<[])\\\\[^\s\\/<>"'`]+\\[^\s\\/<>"'`]+/gu;
const bare = new RegExp(String.raw`(?<![${letter}.\\/-])${host}(?!@)${tail}`, "giu");
const wholeAddress = new RegExp(String.raw`^(?:[^\s\\/@]*@)?${host}${tail}$`, "iu");
const hostFirst = new RegExp(String.raw`^(?:[^\s\\/@]*@)?${host}`, "iu");

/**
 * Returns the distinct web addresses in the texts of a value, in one spelling. Names with a dot (`evil.example`) and IP
 * addresses count. Mail addresses and phone numbers count only as links (`mailto:`, `tel:`).
 */
export const addresses = (value: unknown): string[] => [...addressesIn(value, "", true)];

/**
 * Returns the addresses in an action's parameters that nobody on the user's side named. `letters` has the origins of
 * each parameter; P, K and T are the user's side. Unknown if letters are not a text.
 */
export const unnamedAddresses = (params: unknown, letters: unknown): string[] | Unknown =>
  unnamed(params, letters, true);

/**
 * Returns those addresses to which a client would connect. Without letters, a bare name (`public.users`, `notes.md`) is
 * more often a table or a file. So only these count: a scheme, `//`, `www.`, `mailto:`, `tel:`, a text that is only an
 * address with a path or a port, and any address under a name such as `url`.
 */
export const unnamedLinks = (params: unknown, letters: unknown): string[] | Unknown => unnamed(params, letters, false);

/** `takesNames`: bare names count in parameters without letters. */
function unnamed(params: unknown, letters: unknown, takesNames: boolean): string[] | Unknown {
  if (!isRecord(params)) return unknown("", "type");
  const all = new Set<string>();
  for (const [key, value] of Object.entries(params)) {
    const origin = at(letters, key) ?? null;
    const found = addressesIn(value, key, takesNames || origin !== null);
    if (found.size === 0) continue;
    if (!isRecord(letters) || (origin !== null && typeof origin !== "string")) return unknown("", "type");
    if (origin === null || !/[PKT]/.test(origin)) for (const each of found) all.add(each);
  }
  return [...all];
}

function addressesIn(value: unknown, key: string, takesNames: boolean): Set<string> {
  const found = new Set<string>();
  // Not recursive, because a value may be nested deeper than the stack.
  const pending: [value: unknown, isAddress: boolean][] = [[value, namesAddress(key)]];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [here, isAddress] = next;
    if (typeof here === "string") for (const each of inText(here, takesNames, isAddress)) found.add(each);
    else if (Array.isArray(here)) for (const entry of here.toReversed()) pending.push([entry, isAddress]);
    else if (isRecord(here))
      for (const [name, inner] of Object.entries(here).reverse())
        pending.push([inner, isAddress || namesAddress(name)]);
  }
  return found;
}

const namesAddress = (key: string): boolean =>
  key
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/)
    .some((word) => addressWords.has(word));

function* inText(text: string, takesNames: boolean, isAddress: boolean): Generator<string> {
  if (isAddress) yield* asAddress(text.trim());
  if (!/[.:\\/%&]|[^\0-\x7f]/.test(text)) return;
  const shown = readable(text);
  for (const spelling of new Set([shown, shown.replace(percentCodes, decoded)]))
    yield* inSpelling(spelling.replace(/[\p{Cc}\p{Cs}]/gu, " "), takesNames || isAddress);
}

/** Resolves entities and compatibility forms, and removes invisible characters. */
const readable = (text: string): string =>
  text
    .replace(entity, (written, hex: string | undefined, decimal: string | undefined, word: string | undefined) => {
      if (word !== undefined) return entities.get(word) ?? written;
      const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : written;
    })
    .normalize("NFKC")
    .replace(/\p{Default_Ignorable_Code_Point}+/gu, "")
    // Only between Latin letters, because "。" also ends sentences without a space.
    .replace(/(?<=[a-z0-9])。(?=[a-z0-9])/giu, ".");

const decoded = (codes: string): string => Buffer.from(codes.replaceAll("%", ""), "hex").toString("utf8");

/** Yields the text as a client reads an address: `2130706433`, `evil%2Ecom`. */
function* asAddress(text: string): Generator<string> {
  // A path on the same host, or an id.
  if (/^[\\/](?![\\/])/.test(text) || /^\d{1,7}$/.test(text)) return;
  const hasScheme = /^[a-z][a-z0-9+.-]*:[\\/]{2}|^(?:https?|ftp|wss?):/iu.test(text);
  const url = readUrl(hasScheme ? text : `http://${text.replace(/^[\\/]+/, "")}`);
  if (url !== null && isPublicName(url.hostname, hasScheme)) yield spelled(url);
}

/** Returns true for a name with a dot or an IP address. Without a scheme `notes.txt` is a file. */
const isPublicName = (hostname: string, hasScheme: boolean): boolean =>
  /[.:]/.test(hostname.replace(/\.$/, "")) && (hasScheme || !isFileName(hostname));

const isFileName = (hostname: string): boolean =>
  fileExtensions.has(hostname.slice(hostname.lastIndexOf(".") + 1).toLowerCase());

function* inSpelling(text: string, takesNames: boolean): Generator<string> {
  for (const { 0: written, groups } of text.matchAll(slashed)) {
    const { scheme, slashes = "", after = "" } = groups ?? {};
    // `file:///etc/hosts` is a local file.
    if (scheme !== undefined && !(scheme.toLowerCase() === "file" && slashes.length > 2)) yield address(written);
    else if (hostFirst.test(after) && !isFileName(hostOf(after))) yield address(`http://${after}`);
  }
  for (const { groups } of text.matchAll(unslashed)) {
    const url = readUrl(`http://${groups?.["after"]}`);
    if (url !== null && isPublicName(url.hostname, true)) yield spelled(url);
  }
  for (const [written] of text.matchAll(contact)) {
    const link = trimmed(written).toLowerCase();
    if (link.includes("@") || /^tel:\+?\(?\d/.test(link)) yield link;
  }
  for (const [written] of text.matchAll(share)) yield written.toLowerCase();
  const { port, path } = wholeAddress.exec(text.trim())?.groups ?? {};
  if ((port ?? path) !== undefined && !isFileName(hostOf(text.trim()))) yield address(`http://${text.trim()}`);
  for (const { 0: written, index, groups } of text.matchAll(bare)) {
    const isMarked = /^www\d*\./iu.test(written);
    if (text[index - 1] === "@" && groups?.["path"] === undefined) continue;
    if (isMarked || (takesNames && !isFileName(hostOf(written)))) yield address(`http://${written}`);
  }
}

const hostOf = (written: string): string => hostFirst.exec(written)?.[0] ?? "";

/** Returns an address in one spelling, or unchanged if no client can read it. */
function address(written: string): string {
  const address = trimmed(written);
  const url = readUrl(address.replaceAll("\\", "/"));
  return url === null ? address.toLowerCase() : spelled(url);
}

function trimmed(written: string): string {
  // Not /[.,]+$/, which takes quadratic time for a long row of marks.
  let to = written.length;
  while (to > 0 && endMarks.has(written[to - 1])) to -= 1;
  return written.slice(0, to);
}
const endMarks: ReadonlySet<unknown> = new Set(".,;:!?)]}*_~|");

/** Removes user and password, which hide the host. */
function spelled({ protocol, hostname, port, pathname, search, hash }: URL): string {
  const place = hostname.replace(/\.$/, "") + (port === "" ? "" : `:${port}`);
  const below = `${pathname}${search}${hash}`;
  const web = /^(?:https?|wss?|ftp):$/.test(protocol) ? "" : `${protocol}//`;
  return `${web}${place}${below === "/" ? "" : below}`;
}
