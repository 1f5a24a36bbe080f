/** Hosts in the arguments of commands. */
import { has, split, valuesOf } from "./options.ts";
import type { Arg } from "./words.ts";

/** Returns the host of an address with a scheme, in lower case. Names of buckets and files are no hosts. */
export function hostOfUrl(text: string): string | null {
  const found = /^(?!(?:s3|gs|az|file|npm|docker|oci):)[a-z][a-z0-9+.-]*:\/\/(?:[^@/?#]*@)?(\[[^\]]*\]|[^:/?#]+)/i.exec(
    text,
  )?.[1];
  return found?.replace(/^\[|\]$/g, "").toLowerCase() ?? null;
}

/** Returns the host of `user@host:path` and `host:path`. */
export function hostOfCopy(text: string): string | null {
  return /^(?:[^@/\s:]+@)?([a-z0-9.-]+|\[[^\]]*\]):(?!\/\/)/i.exec(text)?.[1]?.toLowerCase() ?? null;
}

/** `/dev/tcp/host/port` of bash. */
export function hostOfDevice(text: string): string | null {
  return /^\/dev\/(?:tcp|udp)\/([^/]+)/.exec(text)?.[1]?.toLowerCase() ?? null;
}

/** The first part of an address without a scheme, as curl reads it. */
function bareHost(text: string): string {
  return (/^(?:[^@/]*@)?(\[[^\]]*\]|[^:/?#]*)/.exec(text)?.[1] ?? text).toLowerCase();
}

export interface Transfer {
  readonly hosts: readonly string[];
  readonly sends: readonly string[];
  readonly reads: readonly Arg[];
  readonly writes: readonly Arg[];
}

const curlValues = new Set(
  [
    ..."AbcCdDeEFhHKmoPQrtTuUwxXyYz".split("").map((letter) => `-${letter}`),
    ..."data data-raw data-binary data-urlencode data-ascii json form form-string header request output user".split(
      " ",
    ),
    ..."user-agent referer cookie cookie-jar upload-file max-time connect-timeout proxy url cacert cert key".split(" "),
    ..."resolve connect-to retry retry-delay write-out config range interface limit-rate dump-header".split(" "),
    ..."output-dir netrc-file unix-socket url-query oauth2-bearer aws-sigv4 ciphers max-redirs".split(" "),
    ..."retry-max-time speed-limit speed-time time-cond doh-url dns-servers socks5 socks5-hostname preproxy".split(" "),
  ].map((name) => (name.startsWith("-") ? name : `--${name}`)),
);
const curlData = ["-d", "--data", "--data-binary", "--data-ascii", "--data-urlencode", "--json", "--data-raw"];
const curlForms = ["-F", "--form"];
const curlUploads = ["-T", "--upload-file"];
const curlOutputs = ["-o", "--output", "-c", "--cookie-jar", "-D", "--dump-header", "--output-dir"];
const curlInputs = ["-K", "--config", "--netrc-file", "-E", "--cert", "--key"];

export function curl(args: readonly Arg[]): Transfer {
  const given = split(args, curlValues);
  const addresses = [...given.rest, ...valuesOf(given, "--url")];
  const hosts = addresses.map(hostOf);
  const method = valuesOf(given, "-X", "--request")[0]?.text.toUpperCase() ?? "GET";
  const is_sending =
    has(given, ...curlData, ...curlForms, "--form-string", ...curlUploads) || !/^(?:GET|HEAD|OPTIONS)$/.test(method);
  const named = [
    ...valuesOf(given, ...curlData.slice(0, -1)).flatMap((arg) => after(arg, /^[^=]*@/)),
    ...valuesOf(given, ...curlForms).flatMap((arg) => after(arg, /^[^=]*=[@<]/)),
    ...valuesOf(given, "-H", "--header").flatMap((arg) => after(arg, /^@/)),
    ...valuesOf(given, ...curlUploads, ...curlInputs),
  ];
  const remote = has(given, "-O", "--remote-name") ? addresses.map(fileName) : [];
  return {
    hosts: [...hosts, ...valuesOf(given, "-x", "--proxy").map(hostOf)],
    sends: is_sending || addresses.some(({ made }) => made) ? hosts : [],
    reads: named.filter(({ text }) => text !== "-"),
    writes: [...valuesOf(given, ...curlOutputs), ...remote],
  };
}

const wgetValues = new Set(
  [
    ..."oOaePtTQUlADRIXwBi".split("").map((letter) => `-${letter}`),
    ..."post-data post-file body-data body-file method header user password output-document directory-prefix".split(
      " ",
    ),
    ..."output-file append-output input-file tries timeout user-agent referer limit-rate wait level".split(" "),
    ..."load-cookies save-cookies certificate private-key ca-certificate bind-address".split(" "),
  ].map((name) => (name.startsWith("-") ? name : `--${name}`)),
);

export function wget(args: readonly Arg[]): Transfer {
  const given = split(args, wgetValues);
  const hosts = given.rest.map(hostOf);
  const files = valuesOf(given, "--post-file", "--body-file");
  const is_sending = files.length > 0 || has(given, "--post-data", "--body-data");
  const method = valuesOf(given, "--method")[0]?.text.toUpperCase() ?? "GET";
  return {
    hosts,
    sends: is_sending || method !== "GET" || given.rest.some(({ made }) => made) ? hosts : [],
    reads: [...files, ...valuesOf(given, "-i", "--input-file", "--load-cookies", "--private-key")],
    writes: valuesOf(given, "-O", "--output-document", "-P", "--directory-prefix", "-o", "--output-file", "-a"),
  };
}

const sshValues = new Set("BbcDEeFIiJLlmOopQRSWw".split("").map((letter) => `-${letter}`));

/** `ssh`, `nc`, `telnet` and others that connect to their first argument. */
export function connect(args: readonly Arg[]): Transfer {
  const given = split(args, sshValues);
  const [first] = given.rest;
  const hosts = first === undefined ? [] : [hostOf({ ...first, text: first.text.replace(/^[^@]*@/, "") })];
  return { hosts, sends: hosts, reads: valuesOf(given, "-i", "-F"), writes: [] };
}

const copyValues = new Set([
  "-e",
  "-f",
  "--exclude",
  "--include",
  "--rsh",
  "-P",
  "-i",
  "-F",
  "-o",
  "-l",
  "-c",
  "-J",
  "-S",
]);

/** `scp` and `rsync`: the last argument is the target. */
export function copyOver(args: readonly Arg[]): Transfer {
  const given = split(args, copyValues);
  const target = given.rest.at(-1);
  const sources = given.rest.slice(0, -1);
  const hosts = given.rest.flatMap(({ text }) => hostOfUrl(text) ?? hostOfCopy(text) ?? []);
  const to = target === undefined ? null : (hostOfUrl(target.text) ?? hostOfCopy(target.text));
  return {
    hosts,
    sends: to === null ? [] : [to],
    reads: [...sources.filter(({ text }) => hostOfCopy(text) === null), ...valuesOf(given, "-i", "-F")],
    writes: to === null && target !== undefined ? [target] : [],
  };
}

/** Returns all addresses with a scheme, also in values such as `--index-url=https://…`. */
export function urlHosts(args: readonly Arg[]): readonly string[] {
  return args.flatMap(({ text }) => hostOfUrl(text.replace(/^--?[\w-]+=/, "").replace(/^git\+/, "")) ?? []);
}

/** An address that the script does not show is `?`. */
function hostOf({ text, clear }: Arg): string {
  const host = hostOfUrl(text) ?? bareHost(text);
  return !clear && /[$`(]|^$/.test(host) ? "?" : host;
}

function after(arg: Arg, mark: RegExp): readonly Arg[] {
  return mark.test(arg.text) ? [{ ...arg, text: arg.text.replace(mark, "").replace(/;.*$/, "") }] : [];
}

const fileName = (arg: Arg): Arg => ({
  ...arg,
  text:
    arg.text
      .replace(/[?#].*$/, "")
      .split("/")
      .at(-1) ?? "",
});
