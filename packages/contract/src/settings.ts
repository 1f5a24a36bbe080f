/** All settings, read from the environment. docs/reference/configuration.md is generated from this file. */

/** The format of a setting. Other texts stop the start with an error. */
export type SettingFormat =
  | { readonly kind: "text" }
  | { readonly kind: "url"; readonly schemes: readonly string[] }
  /** URLs separated by spaces, one per server. */
  | { readonly kind: "url_list"; readonly schemes: readonly string[] }
  | { readonly kind: "integer"; readonly min: number; readonly max: number }
  | { readonly kind: "choice"; readonly of: readonly string[] }
  | { readonly kind: "boolean" }
  /** A whole number from 1 to `max`, or `auto`. */
  | { readonly kind: "count_or_auto"; readonly max: number }
  | { readonly kind: "cidr_list" }
  | { readonly kind: "witness_list" }
  | { readonly kind: "base64_bytes"; readonly bytes: number }
  | { readonly kind: "base64_list"; readonly bytes: number }
  | { readonly kind: "rate_limits" }
  | { readonly kind: "path" };

/** `fallback` is used for an unset or empty variable; null means off. */
export interface Setting {
  readonly name: string;
  readonly fallback: string | null;
  readonly format: SettingFormat;
  readonly meaning: string;
  /** True: logs and `countersign doctor` never show the value. */
  readonly secret?: true;
}

/** In the order of docs/reference/configuration.md. */
export const settings = {
  HOST: {
    name: "HOST",
    fallback: "127.0.0.1",
    format: { kind: "text" },
    meaning: "Address to listen on.",
  },
  PORT: {
    name: "PORT",
    fallback: "8080",
    format: { kind: "integer", min: 0, max: 65_535 },
    meaning: "Port to listen on. 0 selects a free port. The service prints the address as `listening on http://…`.",
  },
  COUNTERSIGN_DATA_DIR: {
    name: "COUNTERSIGN_DATA_DIR",
    fallback: "./data",
    format: { kind: "path" },
    meaning: "Directory of the embedded database and generated secrets (created with mode 0700).",
  },
  DATABASE_URL: {
    name: "DATABASE_URL",
    fallback: null,
    format: { kind: "url", schemes: ["postgres", "postgresql"] },
    meaning:
      "Use this PostgreSQL (15 or newer) instead of the embedded one. A list such as `postgres://a:5432,b:5432/db` names a primary and its standbys.",
    secret: true,
  },
  DATABASE_REPLICA_URLS: {
    name: "DATABASE_REPLICA_URLS",
    fallback: null,
    format: { kind: "url_list", schemes: ["postgres", "postgresql"] },
    meaning:
      "Standbys of DATABASE_URL that serve long reads (docs/how-to/replicas.md). Put spaces between the URLs, and name one server in each, because " +
      "commas do not separate URLs here. The list may include the primary, which is not used as a replica.",
    secret: true,
  },
  REDIS_URL: {
    name: "REDIS_URL",
    fallback: null,
    format: { kind: "url", schemes: ["redis", "rediss"] },
    meaning: "Share rate-limit windows between nodes through Redis or Valkey.",
    secret: true,
  },
  COUNTERSIGN_MASTER_KEY: {
    name: "COUNTERSIGN_MASTER_KEY",
    fallback: null,
    format: { kind: "base64_bytes", bytes: 32 },
    meaning:
      "Seals webhook secrets, TOTP seeds and client secrets of single sign-on: 32 bytes as base64. Without this setting the service generates a key in the data directory. " +
      "Required when DATABASE_URL is set and NODE_ENV is production.",
    secret: true,
  },
  COUNTERSIGN_OTHER_MASTER_KEYS: {
    name: "COUNTERSIGN_OTHER_MASTER_KEYS",
    fallback: null,
    format: { kind: "base64_list", bytes: 32 },
    meaning:
      "Further master keys, former or next ones, which open sealed texts and seal nothing. " +
      "To replace a master key, see docs/how-to/master-key.md.",
    secret: true,
  },
  COUNTERSIGN_PUBLIC_URL: {
    name: "COUNTERSIGN_PUBLIC_URL",
    fallback: null,
    format: { kind: "url", schemes: ["http", "https"] },
    meaning:
      "Base of the links in mails and snippets, and the address of passkeys and single sign-on. " +
      "Default: the listen address.",
  },
  COUNTERSIGN_LOG_WITNESSES: {
    name: "COUNTERSIGN_LOG_WITNESSES",
    fallback: null,
    format: { kind: "witness_list" },
    meaning:
      "Witnesses that cosign the checkpoints of every organization's log, such as " +
      "`https://witness.example.com/ witness.example.com/w1+8d66cf3f+BK…`: submission prefix and verifier key, joined by a space, in a " +
      "comma list (docs/how-to/audit-trail.md).",
  },
  COUNTERSIGN_STREAM_DIR: {
    name: "COUNTERSIGN_STREAM_DIR",
    fallback: null,
    format: { kind: "path" },
    meaning:
      "Directory for streams with the target `file` (docs/how-to/streams.md). All nodes need the same directory. Without this setting such streams are refused.",
  },
  COUNTERSIGN_SIGNUP: {
    name: "COUNTERSIGN_SIGNUP",
    fallback: "open",
    format: { kind: "choice", of: ["open", "closed"] },
    meaning:
      "Whether quickstart, intake, signup and links of signups work. With `closed` they answer 403 signup_closed.",
  },
  COUNTERSIGN_AUTHZEN: {
    name: "COUNTERSIGN_AUTHZEN",
    fallback: "record",
    format: { kind: "choice", of: ["record", "decide_only"] },
    meaning:
      "What an AuthZEN evaluation does besides its answer. `record`: it is an intent, which counts, may be held for review, and is in the audit " +
      "trail. `decide_only`: nothing is written, counted, opened or spent. See docs/how-to/authzen.md.",
  },
  COUNTERSIGN_WEBHOOK_ALLOW_CIDRS: {
    name: "COUNTERSIGN_WEBHOOK_ALLOW_CIDRS",
    fallback: null,
    format: { kind: "cidr_list" },
    meaning:
      "Comma list of private CIDRs in which webhook receivers, context sources, OpenID providers and stores of streams are allowed.",
  },
  COUNTERSIGN_WEBHOOK_ALLOW_HTTP: {
    name: "COUNTERSIGN_WEBHOOK_ALLOW_HTTP",
    fallback: "false",
    format: { kind: "boolean" },
    meaning: "Also accept http: webhook receivers (local development).",
  },
  COUNTERSIGN_DELIVERIES_KEPT_DAYS: {
    name: "COUNTERSIGN_DELIVERIES_KEPT_DAYS",
    fallback: "30",
    format: { kind: "integer", min: 1, max: 3_650 },
    meaning:
      "Days until delivered or cancelled deliveries are deleted. " +
      "Failed deliveries and their manual retries are never deleted.",
  },
  COUNTERSIGN_WORKERS: {
    name: "COUNTERSIGN_WORKERS",
    fallback: "1",
    format: { kind: "count_or_auto", max: 64 },
    meaning:
      "Processes behind one port. `auto`: one on up to three processors, otherwise half the number of processors. " +
      "Rate limits count for all processes together. SIGUSR2 replaces them one by one.",
  },
  COUNTERSIGN_DRAIN_SECONDS: {
    name: "COUNTERSIGN_DRAIN_SECONDS",
    fallback: "0",
    format: { kind: "integer", min: 0, max: 300 },
    meaning:
      "Seconds that the service continues after the signal to end, while GET /readyz answers 503. " +
      "In this time a load balancer or Kubernetes stops sending requests to this node.",
  },
  COUNTERSIGN_RATE_LIMITS: {
    name: "COUNTERSIGN_RATE_LIMITS",
    fallback: null,
    format: { kind: "rate_limits" },
    meaning:
      "Custom agreement for the whole instance, requests per minute by category: `intents=6000,general=600`. " +
      "A limit of one key is set with `countersign keys limit`.",
  },
  COUNTERSIGN_TRUST_PROXY: {
    name: "COUNTERSIGN_TRUST_PROXY",
    fallback: null,
    format: { kind: "cidr_list" },
    meaning: "Comma list of CIDRs of proxies. Only their X-Forwarded-For sets the client address.",
  },
  COUNTERSIGN_METRICS_TOKEN: {
    name: "COUNTERSIGN_METRICS_TOKEN",
    fallback: null,
    format: { kind: "text" },
    meaning: "Bearer token for GET /metrics from peers other than loopback.",
    secret: true,
  },
  SMTP_URL: {
    name: "SMTP_URL",
    fallback: null,
    format: { kind: "url", schemes: ["smtp", "smtps"] },
    meaning: "Server for outgoing mail. Without this setting mails are .eml files in outbox/ of the data directory.",
    secret: true,
  },
  MAIL_FROM: {
    name: "MAIL_FROM",
    fallback: null,
    format: { kind: "text" },
    meaning: "Sender address of outgoing mail. Required with SMTP_URL.",
  },
  LOG_LEVEL: {
    name: "LOG_LEVEL",
    fallback: "info",
    format: { kind: "choice", of: ["fatal", "error", "warn", "info", "debug", "trace", "silent"] },
    meaning: "Lowest severity that is logged.",
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    fallback: null,
    format: { kind: "url", schemes: ["http", "https"] },
    meaning: "Receiver of traces (OTLP over HTTP). Off if unset.",
  },
  NODE_ENV: {
    name: "NODE_ENV",
    fallback: null,
    format: { kind: "text" },
    meaning: "With `production`, DATABASE_URL requires a master key.",
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof settings;
