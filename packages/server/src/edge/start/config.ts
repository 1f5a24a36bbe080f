/** Reads every setting from the environment. No other code reads it. */

import { isIP } from "node:net";
import { isAbsolute, resolve } from "node:path";
import { type RateCategory, type Setting, type SettingName, settings } from "@countersign/contract";
import type { Witness } from "../../operations/log/ask-witnesses.ts";
import { StartRefused } from "../../store/database/start-refused.ts";
import { type LogLevel, scrub } from "../log.ts";
import { secretFileVariables, withSecretFiles } from "./secret-files.ts";
import { readValue } from "./setting-values.ts";

/** Null: not set. */
export interface Config {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly data_dir: string;
  readonly database_url: string | null;
  readonly database_replica_urls: readonly string[];
  readonly redis_url: string | null;
  /** Null: `openMasterKey` keeps a key in the data directory. */
  readonly master_key: Buffer | null;
  /** `openMasterKeys` adds those of the data directory. */
  readonly other_master_keys: readonly Buffer[];
  /** No trailing slash. Null: the listen address. */
  readonly public_url: string | null;
  readonly log_witnesses: readonly Witness[];
  readonly stream_dir: string | null;
  readonly signup: "open" | "closed";
  readonly authzen: "record" | "decide_only";
  readonly webhook_allow_cidrs: readonly string[];
  readonly webhook_allow_http: boolean;
  readonly deliveries_kept_days: number;
  readonly workers: number | "auto";
  readonly drain_seconds: number;
  /** Requests per minute. */
  readonly rate_limits: Readonly<Partial<Record<RateCategory, number>>>;
  readonly trust_proxy: readonly string[];
  readonly metrics_token: string | null;
  readonly smtp_url: string | null;
  readonly mail_from: string | null;
  readonly log_level: LogLevel;
  readonly otel_endpoint: string | null;
  readonly production: boolean;
  readonly path: string;
  /** Variables with the prefix COUNTERSIGN_ that are not settings. */
  readonly unknown_settings: readonly string[];
}

/** Not settings, but often set where the service starts. */
const clientVariables = ["COUNTERSIGN_URL", "COUNTERSIGN_API_KEY", "COUNTERSIGN_WEBHOOK_SECRET"];

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads all settings. Throws `StartRefused` with one line a problem: setting, value (`***` for secrets), expected form.
 * Blank values count as not set.
 */
export function readConfig(given: Environment, cwd: string = process.cwd()): Config {
  const problems: string[] = [];
  const env = withSecretFiles(given, (variable, expected) => {
    problems.push(`${variable}=${scrub(JSON.stringify(given[variable]))}: expected ${expected}`);
  });
  const refuse = (name: SettingName, expected: string) => {
    const setting: Setting = settings[name];
    const text = env[name] ?? "";
    const held = setting.secret && text.trim() !== "" ? "***" : scrub(JSON.stringify(text));
    problems.push(`${name}=${held}: expected ${expected}`);
  };
  const read = <T>(name: SettingName): T | null => {
    const setting: Setting = settings[name];
    const text = env[name]?.trim() || setting.fallback;
    if (text === null) return null;
    const reading = readValue(text, setting.format);
    if ("value" in reading) return reading.value as T;
    refuse(name, reading.expected);
    return null;
  };
  /** A refused setting is null here, but then `readConfig` throws. */
  const always = <T>(name: SettingName): T => read<T>(name) as T;

  const absolute = (path: string) => (isAbsolute(path) ? path : resolve(cwd, path));
  const data_dir = always<string>("COUNTERSIGN_DATA_DIR");
  const stream_dir = read<string>("COUNTERSIGN_STREAM_DIR");
  const config: Config = {
    host: always("HOST"),
    port: always("PORT"),
    data_dir: data_dir === null ? data_dir : absolute(data_dir),
    database_url: read("DATABASE_URL"),
    database_replica_urls: read("DATABASE_REPLICA_URLS") ?? [],
    redis_url: read("REDIS_URL"),
    master_key: read("COUNTERSIGN_MASTER_KEY"),
    other_master_keys: read("COUNTERSIGN_OTHER_MASTER_KEYS") ?? [],
    public_url: read<string>("COUNTERSIGN_PUBLIC_URL")?.replace(/\/+$/, "") ?? null,
    log_witnesses: read("COUNTERSIGN_LOG_WITNESSES") ?? [],
    stream_dir: stream_dir === null ? null : absolute(stream_dir),
    signup: always("COUNTERSIGN_SIGNUP"),
    authzen: always("COUNTERSIGN_AUTHZEN"),
    webhook_allow_cidrs: read("COUNTERSIGN_WEBHOOK_ALLOW_CIDRS") ?? [],
    webhook_allow_http: always("COUNTERSIGN_WEBHOOK_ALLOW_HTTP"),
    deliveries_kept_days: always("COUNTERSIGN_DELIVERIES_KEPT_DAYS"),
    workers: always("COUNTERSIGN_WORKERS"),
    drain_seconds: always("COUNTERSIGN_DRAIN_SECONDS"),
    rate_limits: read("COUNTERSIGN_RATE_LIMITS") ?? {},
    trust_proxy: read("COUNTERSIGN_TRUST_PROXY") ?? [],
    metrics_token: read("COUNTERSIGN_METRICS_TOKEN"),
    smtp_url: read("SMTP_URL"),
    mail_from: read("MAIL_FROM"),
    log_level: always("LOG_LEVEL"),
    otel_endpoint: read("OTEL_EXPORTER_OTLP_ENDPOINT"),
    production: read("NODE_ENV") === "production",
    path: env["PATH"] ?? "",
    unknown_settings: unknownSettings(env),
  };
  checkTogether(config, env, refuse);
  if (problems.length > 0) throw new StartRefused(problems.join("\n"));
  return config;
}

function unknownSettings(env: Environment): string[] {
  const known = new Set<string>([...Object.keys(settings), ...secretFileVariables.values(), ...clientVariables]);
  return Object.entries(env)
    .filter(
      ([name, text = ""]) => name.startsWith("COUNTERSIGN_") && !known.has(name) && !isServiceVariable(name, text),
    )
    .map(([name]) => name)
    .sort();
}

/** Kubernetes sets such variables for a service called `countersign`. */
function isServiceVariable(name: string, text: string): boolean {
  return (
    /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$/.test(name) ||
    /_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name) ||
    (name.endsWith("_PORT") && /^(tcp|udp|sctp):\/\//.test(text))
  );
}

/** A wrong URL, or NaN as a database, would make the Redis client end the process. */
function takesRedisUrl(url: string): boolean {
  try {
    const { username, password, pathname, searchParams } = new URL(url);
    for (const each of [username, password]) decodeURIComponent(each);
    return [pathname.slice(1) || "0", ...searchParams.getAll("db")].every((db) => /^\d+$/.test(db));
  } catch {
    return false;
  }
}

/** True: the URL asks for such a server or has no preference. Refuses libpq's other choices. */
function asksFor(kind: "primary" | "replica", url: string): boolean {
  const wanted = new URLSearchParams(/\?(.*)$/.exec(url)?.[1]).get("target_session_attrs") ?? "any";
  const choices = { primary: ["read-write", "primary"], replica: ["read-only", "standby", "prefer-standby"] };
  return ["any", ...choices[kind]].includes(wanted);
}

function checkReplicas(
  { database_replica_urls: urls }: Config,
  env: Environment,
  refuse: (name: SettingName, expected: string) => void,
): void {
  if (!urls.every((url) => asksFor("replica", url)))
    refuse("DATABASE_REPLICA_URLS", "target_session_attrs=standby or none, because a replica is read-only");
  else if (urls.length > 0 && !env["DATABASE_URL"]?.trim())
    refuse("DATABASE_REPLICA_URLS", "DATABASE_URL beside it, because the embedded database has no replicas");
}

function checkTogether(config: Config, env: Environment, refuse: (name: SettingName, expected: string) => void): void {
  const { host, redis_url, public_url, mail_from } = config;
  if (host !== null && isIP(host) === 0 && !/^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9.-]{0,252}$/.test(host))
    refuse("HOST", "an IP address or a host name");
  if (redis_url !== null && !takesRedisUrl(redis_url))
    refuse(
      "REDIS_URL",
      "user and password percent-encoded, and nothing or a database number after the host, such as redis://cache:6379/1",
    );
  if (config.database_url !== null && !asksFor("primary", config.database_url))
    refuse("DATABASE_URL", "target_session_attrs=read-write or none, because Countersign writes to its database");
  checkReplicas(config, env, refuse);
  // Parsers read a backslash as the start of a path, too.
  if (public_url !== null && new URL(public_url).href !== `${new URL(public_url).origin}/`) {
    refuse(
      "COUNTERSIGN_PUBLIC_URL",
      "a URL without user, path, query and fragment, because everything is served at the root of a host",
    );
  }
  if (mail_from !== null && !/^[^<>]*<?[^\s@<>]+@[^\s@<>]+>?$/.test(mail_from)) {
    refuse("MAIL_FROM", "an address such as countersign@example.com or Countersign <countersign@example.com>");
  }
  if (config.smtp_url !== null && !env["MAIL_FROM"]?.trim())
    refuse("MAIL_FROM", "a sender address, because SMTP_URL is set");
  const { master_key, other_master_keys } = config;
  if (master_key !== null && other_master_keys.some((key) => key.equals(master_key)))
    refuse(
      "COUNTERSIGN_OTHER_MASTER_KEYS",
      "other keys than COUNTERSIGN_MASTER_KEY, which already opens its own values",
    );
  if (config.database_url !== null && config.production && !env["COUNTERSIGN_MASTER_KEY"]?.trim()) {
    refuse(
      "COUNTERSIGN_MASTER_KEY",
      "32 bytes in base64, because DATABASE_URL is set and NODE_ENV is production (create a key with `openssl rand -base64 32`)",
    );
  }
}
