import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { settings } from "@countersign/contract";
import { verifierKeyText } from "@countersign/core";
import { describe, expect, onTestFinished, test } from "vitest";
import { StartRefused } from "../../store/database/start-refused.ts";
import { type Config, readConfig } from "./config.ts";
import { openMasterKeys, readMasterKeys, replaceMasterKeyFile } from "./master-key.ts";

const key = Buffer.alloc(32, 7);
const other = Buffer.alloc(32, 8);
const witness = { url: "https://w.example/x", key: { name: "w.example/1", type: 4, public_key: Buffer.alloc(32, 5) } };
const witnessKey = verifierKeyText(witness.key);

function refusal(env: Record<string, string>): string {
  try {
    readConfig(env, "/srv");
  } catch (error) {
    if (error instanceof StartRefused) return error.message;
    throw error;
  }
  return "accepted";
}

describe("settings", () => {
  test("missing, empty and blank variables get the documented defaults", () => {
    const defaults: Config = {
      host: "127.0.0.1",
      port: 8080,
      data_dir: "/srv/data",
      ...{ database_url: null, database_replica_urls: [], redis_url: null },
      ...{ master_key: null, other_master_keys: [] },
      public_url: null,
      log_witnesses: [],
      stream_dir: null,
      signup: "open",
      authzen: "record",
      webhook_allow_cidrs: [],
      webhook_allow_http: false,
      deliveries_kept_days: 30,
      workers: 1,
      drain_seconds: 0,
      rate_limits: {},
      trust_proxy: [],
      metrics_token: null,
      smtp_url: null,
      mail_from: null,
      log_level: "info",
      otel_endpoint: null,
      production: false,
      path: "",
      unknown_settings: [],
    };
    expect(readConfig({}, "/srv")).toEqual(defaults);
    const blank = Object.fromEntries(Object.keys(settings).map((name, i) => [name, i % 2 === 0 ? "" : "  "]));
    expect(readConfig(blank, "/srv")).toEqual(defaults);
  });

  const accepted: [name: string, text: string, field: keyof Config, value: unknown][] = [
    ["HOST", "0.0.0.0", "host", "0.0.0.0"],
    ["HOST", "::1", "host", "::1"],
    ["HOST", "node-1.internal", "host", "node-1.internal"],
    ["PORT", "0", "port", 0],
    ["PORT", "65535", "port", 65_535],
    ["COUNTERSIGN_DATA_DIR", "/var/lib/countersign", "data_dir", "/var/lib/countersign"],
    ["COUNTERSIGN_DATA_DIR", "../state", "data_dir", "/state"],
    [
      "DATABASE_URL",
      "postgres://app:pw@db/x?sslmode=require",
      "database_url",
      "postgres://app:pw@db/x?sslmode=require",
    ],
    [
      "DATABASE_URL",
      "postgresql://app@/x?host=/run/postgresql",
      "database_url",
      "postgresql://app@/x?host=/run/postgresql",
    ],
    [
      "DATABASE_URL",
      "postgres://app@a:5432,[::1]/x?target_session_attrs=read-write",
      "database_url",
      "postgres://app@a:5432,[::1]/x?target_session_attrs=read-write",
    ],
    ["REDIS_URL", "rediss://cache:6380/1", "redis_url", "rediss://cache:6380/1"],
    ["REDIS_URL", "redis://:a%2Fb@[::1]/?family=6", "redis_url", "redis://:a%2Fb@[::1]/?family=6"],
    ["COUNTERSIGN_MASTER_KEY", key.toString("base64"), "master_key", key],
    ["COUNTERSIGN_OTHER_MASTER_KEYS", other.toString("base64"), "other_master_keys", [other]],
    [
      "COUNTERSIGN_OTHER_MASTER_KEYS",
      `${other.toString("base64")}, ${key.toString("base64")}`,
      "other_master_keys",
      [other, key],
    ],
    ["COUNTERSIGN_PUBLIC_URL", "https://sign.example.com/", "public_url", "https://sign.example.com"],
    ["COUNTERSIGN_LOG_WITNESSES", `https://w.example/x/ ${witnessKey}`, "log_witnesses", [witness]],
    ["COUNTERSIGN_STREAM_DIR", "/srv/streams", "stream_dir", "/srv/streams"],
    ["COUNTERSIGN_SIGNUP", "closed", "signup", "closed"],
    ["COUNTERSIGN_WEBHOOK_ALLOW_CIDRS", "10.0.0.0/8, fd00::/8", "webhook_allow_cidrs", ["10.0.0.0/8", "fd00::/8"]],
    ["COUNTERSIGN_WEBHOOK_ALLOW_HTTP", "true", "webhook_allow_http", true],
    ["COUNTERSIGN_DELIVERIES_KEPT_DAYS", "1", "deliveries_kept_days", 1],
    ["COUNTERSIGN_DELIVERIES_KEPT_DAYS", "3650", "deliveries_kept_days", 3650],
    ["COUNTERSIGN_WORKERS", "auto", "workers", "auto"],
    ["COUNTERSIGN_WORKERS", "64", "workers", 64],
    ["COUNTERSIGN_DRAIN_SECONDS", "0", "drain_seconds", 0],
    ["COUNTERSIGN_DRAIN_SECONDS", "300", "drain_seconds", 300],
    ["COUNTERSIGN_RATE_LIMITS", "intents=6000, general=600", "rate_limits", { intents: 6000, general: 600 }],
    ["COUNTERSIGN_TRUST_PROXY", "127.0.0.1/32", "trust_proxy", ["127.0.0.1/32"]],
    ["COUNTERSIGN_METRICS_TOKEN", "s3cret", "metrics_token", "s3cret"],
    ["MAIL_FROM", "Countersign <sign@example.com>", "mail_from", "Countersign <sign@example.com>"],
    ["LOG_LEVEL", "debug", "log_level", "debug"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://otel:4318", "otel_endpoint", "http://otel:4318"],
    ["NODE_ENV", "production", "production", true],
    ["NODE_ENV", "development", "production", false],
  ];
  test.each(accepted)("%s=%s is accepted", (name, text, field, value) => {
    expect(readConfig({ [name]: text }, "/srv")[field]).toEqual(value);
  });

  const refused: [name: string, text: string, expected: RegExp][] = [
    ["HOST", "http://x", /an IP address or a host name/],
    ["HOST", "a..b", /an IP address or a host name/],
    ["PORT", "80a", /a whole number from 0 to 65535/],
    ["PORT", "65536", /a whole number from 0 to 65535/],
    ["PORT", "-1", /a whole number/],
    ["PORT", "8e3", /a whole number/],
    ["PORT", "80.0", /a whole number/],
    ["COUNTERSIGN_DATA_DIR", "a\u0000b", /control characters/],
    ["COUNTERSIGN_STREAM_DIR", "a\u0000b", /control characters/],
    ["DATABASE_URL", "mysql://db/x", /starts with postgres:\/\/ or postgresql:\/\//],
    ["DATABASE_URL", "db.example.com", /starts with postgres:/],
    ["DATABASE_URL", "postgres://me:pass#word@db/x", /one host or a list .* percent-encoded/],
    ["DATABASE_URL", "postgres://a:5432,b:five/x", /one host or a list such as a:5432,b:5432, ports of digits/],
    ["DATABASE_URL", "postgres://a,,b/x", /one host or a list/],
    ["DATABASE_URL", "postgres://a,b/x?port=1,2,3", /one host or a list/],
    ["DATABASE_URL", "postgres://a,b/x?target_session_attrs=standby", /target_session_attrs=read-write or none/],
    ["DATABASE_REPLICA_URLS", "mysql://db/x", /URLs separated by spaces, each a URL that starts with postgres:/],
    ["DATABASE_REPLICA_URLS", "postgres://a/x b/x", /URLs separated by spaces, each a URL that starts/],
    ["DATABASE_REPLICA_URLS", "postgres://a/x,postgres://b/x", /URLs separated by spaces/],
    ["DATABASE_REPLICA_URLS", "postgres://a,b/x", /one server in each/],
    ["DATABASE_REPLICA_URLS", "postgres://a:five/x", /ports of digits/],
    ["DATABASE_REPLICA_URLS", "postgres://a/x postgres://a/x", /each URL once/],
    ["DATABASE_REPLICA_URLS", "postgres://a/x", /DATABASE_URL beside it/],
    ["DATABASE_REPLICA_URLS", "postgres://a/x?target_session_attrs=read-write", /target_session_attrs=standby or none/],
    ["REDIS_URL", "http://cache", /starts with redis:\/\/ or rediss:\/\//],
    ["REDIS_URL", "redis://cache/limits", /a database number after the host/],
    ["REDIS_URL", "rediss://cache:6380/-1", /a database number after the host/],
    ["REDIS_URL", "redis://cache?family=6&db=limits", /a database number after the host/],
    ["REDIS_URL", "redis://cache/?db=", /a database number after the host/],
    ["REDIS_URL", "redis://:50%off@cache", /password percent-encoded/],
    ["REDIS_URL", "redis://me:word@/0", /a database number after the host/],
    ["COUNTERSIGN_MASTER_KEY", "c2hvcnQ=", /32 bytes in base64, as `openssl rand -base64 32` prints them/],
    ["COUNTERSIGN_MASTER_KEY", `${"!".repeat(43)}=`, /32 bytes in base64/],
    ["COUNTERSIGN_OTHER_MASTER_KEYS", "c2hvcnQ=", /each 32 bytes in base64/],
    ["COUNTERSIGN_OTHER_MASTER_KEYS", Buffer.alloc(33, 1).toString("base64"), /each 32 bytes in base64/],
    ["COUNTERSIGN_OTHER_MASTER_KEYS", ",", /a comma list of different keys/],
    ["COUNTERSIGN_OTHER_MASTER_KEYS", `${other.toString("base64")},`, /a comma list of different keys/],
    ["COUNTERSIGN_OTHER_MASTER_KEYS", `${"x,".repeat(2)}x`, /a comma list of different keys/],
    ["COUNTERSIGN_OTHER_MASTER_KEYS", Array(2).fill(other.toString("base64")).join(", "), /list of different keys/],
    ["COUNTERSIGN_PUBLIC_URL", "sign.example.com", /starts with http:\/\/ or https:\/\//],
    ["COUNTERSIGN_PUBLIC_URL", "https://x/?a=1", /without user, path, query and fragment/],
    ["COUNTERSIGN_PUBLIC_URL", "https://x/?", /without user, path, query and fragment/],
    ["COUNTERSIGN_PUBLIC_URL", "https://me@x/", /without user, path, query and fragment/],
    ["COUNTERSIGN_PUBLIC_URL", "https://tools.example.com/countersign/", /served at the root of a host/],
    ["COUNTERSIGN_PUBLIC_URL", "https://tools.example.com\\countersign", /served at the root of a host/],
    ["COUNTERSIGN_LOG_WITNESSES", "https://w.example", /each an http or https URL, a space, and a verifier key/],
    ["COUNTERSIGN_LOG_WITNESSES", Array(2).fill(`https://w.example ${witnessKey}`).join(","), /different witnesses/],
    ["COUNTERSIGN_SIGNUP", "Closed", /one of open, closed/],
    ["COUNTERSIGN_AUTHZEN", "off", /one of record, decide_only/],
    ["COUNTERSIGN_WEBHOOK_ALLOW_CIDRS", "10.0.0.1", /a comma list of CIDRs/],
    ["COUNTERSIGN_WEBHOOK_ALLOW_CIDRS", "10.0.0.0/8,,", /a comma list of CIDRs/],
    ["COUNTERSIGN_WEBHOOK_ALLOW_HTTP", "yes", /true or false/],
    ["COUNTERSIGN_DELIVERIES_KEPT_DAYS", "0", /a whole number from 1 to 3650/],
    ["COUNTERSIGN_DELIVERIES_KEPT_DAYS", "3651", /a whole number from 1 to 3650/],
    ["COUNTERSIGN_WORKERS", "0", /a whole number from 1 to 64, or auto/],
    ["COUNTERSIGN_WORKERS", "all", /a whole number from 1 to 64, or auto/],
    ["COUNTERSIGN_DRAIN_SECONDS", "301", /a whole number from 0 to 300/],
    ["COUNTERSIGN_RATE_LIMITS", "intent=5", /categories: .*intents.*general/],
    ["COUNTERSIGN_RATE_LIMITS", "intents=0", /1 to 1000000 requests per minute/],
    ["COUNTERSIGN_RATE_LIMITS", "intents=5,intents=6", /category=requests pairs/],
    ["COUNTERSIGN_RATE_LIMITS", "constructor=5", /category=requests pairs/],
    ["COUNTERSIGN_TRUST_PROXY", "all", /a comma list of CIDRs/],
    ["SMTP_URL", "mail.example.com", /starts with smtp:\/\/ or smtps:\/\//],
    ["MAIL_FROM", "nobody", /an address such as/],
    ["LOG_LEVEL", "verbose", /one of fatal, error, warn, info, debug, trace, silent/],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "otel:4318", /starts with http:\/\/ or https:\/\//],
  ];
  test.each(refused)("%s=%j is refused in one line that says what is expected", (name, text, expected) => {
    const message = refusal({ [name]: text });
    expect(message).toMatch(new RegExp(`^${name}=.*: expected .*$`));
    expect(message).toMatch(expected);
  });

  test("every setting of the contract that can be wrong has a refused example here", () => {
    const free_text = ["COUNTERSIGN_METRICS_TOKEN", "NODE_ENV"];
    const covered = new Set(refused.map(([name]) => name));
    expect(Object.keys(settings).filter((name) => !covered.has(name) && !free_text.includes(name))).toEqual([]);
  });

  test("that are wrong together are refused together, one line each", () => {
    expect(refusal({ PORT: "x", LOG_LEVEL: "loud" })).toBe(
      'PORT="x": expected a whole number from 0 to 65535\nLOG_LEVEL="loud": expected one of fatal, error, warn, info, debug, trace, silent',
    );
  });

  test("never show a secret's value in the refusal", () => {
    for (const [name, setting] of Object.entries(settings)) {
      if ("secret" in setting)
        expect(refusal({ [name]: "hunter2\u0001" })).toBe(`${name}=***: expected text without control characters`);
    }
  });

  test("never show a password in an address, of any setting", () => {
    expect(refusal({ OTEL_EXPORTER_OTLP_ENDPOINT: "grpc://team:hunter2@collector:4317" })).toBe(
      'OTEL_EXPORTER_OTLP_ENDPOINT="grpc://team:***@collector:4317": expected a URL that starts with http:// or https://',
    );
  });

  test("SMTP_URL needs MAIL_FROM", () => {
    expect(refusal({ SMTP_URL: "smtp://mail" })).toBe(
      'MAIL_FROM="": expected a sender address, because SMTP_URL is set',
    );
    expect(refusal({ SMTP_URL: "smtp://mail", MAIL_FROM: "a@b.c" })).toBe("accepted");
  });

  test("DATABASE_REPLICA_URLS lists servers separated by spaces, and needs DATABASE_URL", () => {
    const [one, two] = ["postgres://a/x?target_session_attrs=standby", "postgresql://app@/x?host=/run/postgresql"];
    const env = { DATABASE_URL: "postgres://db/x", DATABASE_REPLICA_URLS: ` ${one}  ${two}` };
    expect(readConfig(env).database_replica_urls).toEqual([one, two]);
    expect(readConfig({}).database_replica_urls).toEqual([]);
  });

  test("DATABASE_URL in production needs the master key", () => {
    const env = { DATABASE_URL: "postgres://db/x", NODE_ENV: "production" };
    expect(refusal(env)).toMatch(
      /^COUNTERSIGN_MASTER_KEY="": expected 32 bytes in base64, because DATABASE_URL is set/,
    );
    expect(refusal({ ...env, COUNTERSIGN_MASTER_KEY: key.toString("base64") })).toBe("accepted");
    expect(refusal({ ...env, NODE_ENV: "development" })).toBe("accepted");
  });

  test("the master key is not among the other master keys, because then a key is probably missing", () => {
    const own = key.toString("base64");
    expect(refusal({ COUNTERSIGN_MASTER_KEY: own, COUNTERSIGN_OTHER_MASTER_KEYS: own })).toBe(
      "COUNTERSIGN_OTHER_MASTER_KEYS=***: expected other keys than COUNTERSIGN_MASTER_KEY, which already opens its own values",
    );
    const others = other.toString("base64");
    expect(refusal({ COUNTERSIGN_MASTER_KEY: own, COUNTERSIGN_OTHER_MASTER_KEYS: others })).toBe("accepted");
  });

  test("a misspelt COUNTERSIGN_ variable is reported, but not one that the client reads", () => {
    const clients = { COUNTERSIGN_URL: "u", COUNTERSIGN_API_KEY: "k", COUNTERSIGN_WEBHOOK_SECRET: "s" };
    expect(readConfig({ COUNTERSIGN_SIGNUPS: "closed", OTHER: "x", ...clients }).unknown_settings).toEqual([
      "COUNTERSIGN_SIGNUPS",
    ]);
  });
});

test("variables that Kubernetes sets for a service called countersign are not reported as misspelt", () => {
  const of_a_service = {
    COUNTERSIGN_SERVICE_HOST: "10.96.12.7",
    COUNTERSIGN_SERVICE_PORT: "8080",
    COUNTERSIGN_SERVICE_PORT_HTTP_2: "8080",
    COUNTERSIGN_PORT: "tcp://10.96.12.7:8080",
    COUNTERSIGN_PORT_8080_TCP: "tcp://10.96.12.7:8080",
    COUNTERSIGN_PORT_8080_TCP_ADDR: "10.96.12.7",
    COUNTERSIGN_WEB_PORT_53_UDP_PROTO: "udp",
    COUNTERSIGN_DB_PORT: "tcp://10.96.12.8:5432",
  };
  expect(readConfig(of_a_service).unknown_settings).toEqual([]);
  expect(readConfig({ COUNTERSIGN_PORT: "8080" }).unknown_settings).toEqual(["COUNTERSIGN_PORT"]);
});

describe("secrets from files", () => {
  async function fileWith(text: string): Promise<string> {
    const dir = await mkdtemp(join(tmpdir(), "cs-"));
    onTestFinished(() => rm(dir, { recursive: true, force: true }));
    await writeFile(join(dir, "secret"), text);
    return join(dir, "secret");
  }

  test("every secret setting can come from a file, without the line end of the file", async () => {
    const secrets = {
      DATABASE_URL: "postgres://me:pw@db/x",
      DATABASE_REPLICA_URLS: "postgres://me:pw@standby/x",
      REDIS_URL: "redis://cache",
      COUNTERSIGN_MASTER_KEY: key.toString("base64"),
      COUNTERSIGN_OTHER_MASTER_KEYS: other.toString("base64"),
      COUNTERSIGN_METRICS_TOKEN: "s3cret",
      SMTP_URL: "smtp://me:pw@mail",
    };
    expect(Object.keys(secrets)).toEqual(
      Object.entries(settings).flatMap(([name, setting]) => ("secret" in setting ? [name] : [])),
    );
    const files: Record<string, string> = {};
    for (const [name, text] of Object.entries(secrets)) files[`${name}_FILE`] = await fileWith(`${text}\n`);
    const rest = { MAIL_FROM: "a@b.example", NODE_ENV: "production" };
    expect(readConfig({ ...rest, ...files }, "/srv")).toEqual(readConfig({ ...rest, ...secrets }, "/srv"));
  });

  test("a file that cannot be read, is empty, or comes beside the setting is refused, without the secret", async () => {
    expect(refusal({ DATABASE_URL_FILE: "/nowhere/at-all" })).toBe(
      'DATABASE_URL_FILE="/nowhere/at-all": expected a file that can be read (ENOENT)',
    );
    const empty = await fileWith("\n");
    expect(refusal({ SMTP_URL_FILE: empty, MAIL_FROM: "a@b.example" })).toBe(
      `SMTP_URL_FILE="${empty}": expected a file that is not empty`,
    );
    const both = { REDIS_URL_FILE: await fileWith("redis://hunter2"), REDIS_URL: "redis://cache" };
    expect(refusal(both)).toBe(
      `REDIS_URL_FILE="${both.REDIS_URL_FILE}": expected nothing, because REDIS_URL is set, too`,
    );
    expect(refusal({ DATABASE_URL_FILE: await fileWith("mysql://hunter2") })).toMatch(
      /^DATABASE_URL=\*\*\*: expected a URL/,
    );
  });
});

describe("the master keys", () => {
  const unset = { master_key: null, other_master_keys: [] };

  async function dataDir(): Promise<string> {
    const dir = await mkdtemp(join(tmpdir(), "cs-"));
    onTestFinished(() => rm(dir, { recursive: true, force: true }));
    return join(dir, "data");
  }

  test("that are set are used, and nothing is written", async () => {
    const data_dir = await dataDir();
    const given = { master_key: key, other_master_keys: [other] };
    expect(await openMasterKeys({ ...given, data_dir })).toEqual(given);
    expect(await readMasterKeys({ ...given, data_dir })).toEqual(given);
    await expect(stat(data_dir)).rejects.toThrow("ENOENT");
  });

  test("one is created once, in a file that only its owner can read, even by ten concurrent starts", async () => {
    const data_dir = await dataDir();
    const opened = await Promise.all(Array.from({ length: 10 }, () => openMasterKeys({ ...unset, data_dir })));
    expect(new Set(opened.map(({ master_key }) => master_key.toString("base64"))).size).toBe(1);
    expect(opened[0]?.master_key).toHaveLength(32);
    expect(opened[0]?.other_master_keys).toEqual([]);
    expect((await stat(join(data_dir, "master.key"))).mode & 0o777).toBe(0o600);
    expect((await stat(data_dir)).mode & 0o777).toBe(0o700);
    expect((await readFile(join(data_dir, "master.key"), "utf8")).trim()).toBe(
      opened[0]?.master_key.toString("base64"),
    );
  });

  test("in a damaged or readable-by-others file are refused, and never replaced", async () => {
    for (const name of ["master.key", "master-others.keys"]) {
      const data_dir = await dataDir();
      await openMasterKeys({ ...unset, data_dir });
      const file = join(data_dir, name);
      await writeFile(file, "c2hvcnQ=\n", { mode: 0o600 });
      await expect(openMasterKeys({ ...unset, data_dir })).rejects.toThrow(StartRefused);
      await expect(replaceMasterKeyFile({ ...unset, data_dir })).rejects.toThrow(StartRefused);
      expect(await readFile(file, "utf8")).toBe("c2hvcnQ=\n");
      await rm(file);
      await writeFile(file, `${key.toString("base64")}\n`, { mode: 0o644 });
      await expect(openMasterKeys({ ...unset, data_dir })).rejects.toThrow("chmod 600 it");
    }
  });

  test("none is created for a command that must open existing sealed values", async () => {
    const data_dir = await dataDir();
    await expect(readMasterKeys({ ...unset, data_dir })).rejects.toThrow(/there is no master key/);
    await expect(replaceMasterKeyFile({ ...unset, data_dir })).rejects.toThrow(/there is no master key/);
    await expect(stat(data_dir)).rejects.toThrow("ENOENT");
  });

  test("replaced in the data directory: the former ones open, newest first, and are merged with those of the setting", async () => {
    const data_dir = await dataDir();
    const { master_key: first } = await openMasterKeys({ ...unset, data_dir });
    const { master_key: second } = await replaceMasterKeyFile({ ...unset, data_dir });
    const third = await replaceMasterKeyFile({ ...unset, data_dir });
    expect(third.other_master_keys).toEqual([second, first]);
    expect(new Set([first, second, third.master_key].map((each) => each.toString("hex"))).size).toBe(3);
    for (const name of ["master.key", "master-others.keys"])
      expect((await stat(join(data_dir, name))).mode & 0o777).toBe(0o600);
    const others = [other, first];
    expect((await openMasterKeys({ master_key: null, other_master_keys: others, data_dir })).other_master_keys).toEqual(
      [other, first, second],
    );
    expect((await readMasterKeys({ master_key: second, other_master_keys: [], data_dir })).other_master_keys).toEqual([
      first,
    ]);
    await expect(replaceMasterKeyFile({ master_key: key, other_master_keys: [], data_dir })).rejects.toThrow(
      "the master key is a setting",
    );
  });

  test("after an interruption between the two files, the former key still seals and opens", async () => {
    const data_dir = await dataDir();
    const { master_key: first } = await openMasterKeys({ ...unset, data_dir });
    await writeFile(join(data_dir, "master-others.keys"), `${first.toString("base64")}\n`, { mode: 0o600 });
    expect(await openMasterKeys({ ...unset, data_dir })).toEqual({ master_key: first, other_master_keys: [] });
    expect((await replaceMasterKeyFile({ ...unset, data_dir })).other_master_keys).toEqual([first]);
  });
});
