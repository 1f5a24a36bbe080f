import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { migrations_dir } from "../../paths.ts";
import type { Log } from "../../ports.ts";
import { type ConnectionOptions, isConflict, openClient, sqlState } from "./connection.ts";
import type { Session } from "./session.ts";
import { app_role } from "./settings.ts";
import { StartRefused } from "./start-refused.ts";

/** `sha256` is over the text with LF line ends, in hex. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly text: string;
  readonly sha256: string;
  /** The first line starts with `-- breaking`: older programs must not use the database. */
  readonly breaking: boolean;
}

/** Throws if the files `NNNN-name.sql` are not numbered 1, 2, 3 … without a gap. */
export async function readMigrations(dir: string = migrations_dir): Promise<Migration[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(
    names.map(async (name, index) => {
      const version = Number(/^(\d{4})-[a-z0-9-]+\.sql$/.exec(name)?.[1] ?? "0");
      if (version !== index + 1)
        throw new Error(`migrations/${name}: expected number ${String(index + 1).padStart(4, "0")}`);
      const text = (await readFile(`${dir}/${name}`, "utf8")).replaceAll("\r\n", "\n");
      const sha256 = createHash("sha256").update(text).digest("hex");
      return { version, name: name.slice(0, -".sql".length), text, sha256, breaking: text.startsWith("-- breaking") };
    }),
  );
}

/**
 * Applies the missing migrations and returns the schema's version. Safe for concurrent processes.
 *
 * Each migration is a transaction that locks the row of version 0. A row lock also works behind poolers and on
 * YugabyteDB, where advisory and table locks do not.
 *
 * Throws `StartRefused` if PostgreSQL is older than 15, an applied file has changed, or a newer program left a breaking
 * schema.
 */
export async function migrate(connection: ConnectionOptions, log: Log, files?: readonly Migration[]): Promise<number> {
  const migrations = files ?? (await readMigrations());
  const client = await openClient(connection, "countersign migrate");
  try {
    await refuseOldServer(client);
    await createLedger(client);
    while (await applyNext(client, migrations, log));
    return migrations.length;
  } catch (error) {
    throw await refusal(error, client);
  } finally {
    await client.end();
  }
}

async function refuseOldServer(client: Session): Promise<void> {
  const { rows } = await client.query(
    "select current_setting('server_version') as text, current_setting('server_version_num')::int as number",
  );
  if (rows[0].number < 150_000) {
    throw new StartRefused(
      `the database server is PostgreSQL ${rows[0].text}, but 15 or newer is needed: upgrade it, or unset DATABASE_URL to use the embedded one`,
    );
  }
}

async function createLedger(client: Session): Promise<void> {
  const { rows } = await client.query(
    "select to_regclass('schema_migrations') is not null as exists, current_setting('server_encoding') as encoding",
  );
  if (rows[0].exists) return;
  if (rows[0].encoding !== "UTF8") {
    throw new StartRefused(
      `the encoding of the database is ${rows[0].encoding}, which cannot hold every text: create a database with encoding 'UTF8' (template template0)`,
    );
  }
  try {
    await client.query(`create table if not exists schema_migrations (
        version    integer primary key,
        name       text not null,
        sha256     text not null,
        breaking   boolean not null,
        applied_at timestamptz not null
      );
      insert into schema_migrations values (0, 'lock', '', false, clock_timestamp()) on conflict do nothing`);
  } catch (error) {
    // "if not exists" still conflicts when two sessions create the table at once.
    if (!["23505", "42P07", "42710"].includes(sqlState(error) ?? "")) throw error;
    await createLedger(client);
  }
}

/** Slower migrations are logged. An index over ten million rows takes a minute. */
const told_after_ms = 2_000;
/** Does nothing before the migration that creates the table. */
const decisions_wait = `do $$ begin
  if to_regclass('org_heads') is not null then lock table org_heads in exclusive mode; end if;
end $$`;

/** Attempts before a deadlock is reported. */
const runs_max = 10;

/**
 * Applies one missing migration; returns false if there is none. After a deadlock with decisions, it first locks the
 * table with which every decision starts.
 */
async function applyNext(client: Session, migrations: readonly Migration[], log: Log): Promise<boolean> {
  for (let run = 1; ; run += 1) {
    try {
      return await applyOnce(client, migrations, log, run > 1);
    } catch (error) {
      if (!isConflict(error) || run >= runs_max) throw error;
      log.warn({ err: error }, "a migration conflicted with other nodes' work and was rolled back: it is retried");
      await pause(run * 100);
    }
  }
}

async function applyOnce(
  client: Session,
  migrations: readonly Migration[],
  log: Log,
  alone: boolean,
): Promise<boolean> {
  await client.query(client.begin({ "app.org": "*", idle_in_transaction_session_timeout: "0" }));
  try {
    await lockLedger(client, log);
    const applied = await client.query<Applied>(
      "select version, name, sha256, breaking from schema_migrations where version > 0 order by version",
    );
    refuseForeignSchema(applied.rows, migrations, log);
    const next = migrations[applied.rows.length];
    if (next !== undefined) {
      if (alone) await client.query(decisions_wait);
      await tellWhile(client.query(next.text), () =>
        log.warn(
          { migration: next.name },
          "a migration is still running: if you interrupt it, it starts again from its beginning at the next start",
        ),
      );
      await client.query("insert into schema_migrations values ($1::int, $2, $3, $4, clock_timestamp())", [
        next.version,
        next.name,
        next.sha256,
        next.breaking,
      ]);
      log.info({ migration: next.name }, "migration applied");
    }
    await client.query(grants);
    await client.query("commit");
    return next !== undefined && next.version < migrations.length;
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    throw error;
  }
}

async function tellWhile(work: Promise<unknown>, tell: () => void): Promise<void> {
  const ended = new AbortController();
  const { signal } = ended;
  const telling = (async () => {
    for (;;) {
      await pause(told_after_ms, undefined, { signal });
      tell();
    }
  })();
  telling.catch(() => undefined);
  try {
    await work;
  } finally {
    ended.abort();
  }
}

async function lockLedger(client: Session, log: Log): Promise<void> {
  for (;;) {
    try {
      await client.query(`savepoint waiting; set local lock_timeout = ${told_after_ms}`);
      await client.query("select from schema_migrations where version = 0 for update");
      await client.query("set local lock_timeout = 0");
      return;
    } catch (error) {
      if (sqlState(error) !== "55P03") throw error;
      await client.query("rollback to waiting; release waiting");
      log.warn({}, "another session holds the lock of this database's migrations: waiting until it has finished");
    }
  }
}

type Applied = Pick<Migration, "version" | "name" | "sha256" | "breaking">;

/** The first migration of older versions, which need `npm run upgrade-once`. */
const first_of_before = "0001-main-road";

function refuseForeignSchema(applied: readonly Applied[], known: readonly Migration[], log: Log): void {
  if (applied[0]?.name === first_of_before && known[0]?.name !== first_of_before) {
    throw new StartRefused(
      "this database has the schema of an older Countersign; nothing was changed. Stop all nodes of the older version and keep a dump. Then run `npm run upgrade-once` in a checkout of this version with the same settings",
    );
  }
  for (const row of applied.slice(0, known.length)) {
    const file = known[row.version - 1];
    if (file?.sha256 === row.sha256) continue;
    throw new StartRefused(
      `migration ${row.name} was applied to this database with other contents than this program's ${file?.name}: use the program that created the database, or another database`,
    );
  }
  const newer = applied.slice(known.length);
  const breaking = newer.find((row) => row.breaking);
  if (breaking !== undefined) {
    throw new StartRefused(
      `a newer Countersign changed this database in a way that this version does not support (migration ${breaking.name}): start that version or newer, or restore a dump taken before`,
    );
  }
  if (newer.length > 0)
    log.warn({ migrations: newer.map((row) => row.name) }, "the database is newer than this program, but compatible");
}

/** Advice for the operator, by SQLSTATE. */
const advices = new Map([
  [
    "42501",
    `make the role of DATABASE_URL the owner of the database, or grant it CREATE and USAGE on the schema; a role with BYPASSRLS needs CREATEROLE, or the role ${app_role} granted`,
  ],
  ["3F000", "set the search_path of the role of DATABASE_URL to a schema that exists"],
  ["25006", "promote the standby, switch default_transaction_read_only off, or name the primary in DATABASE_URL"],
  ["53100", "free space on the disk of the database server"],
]);

async function refusal(error: unknown, client: Session): Promise<unknown> {
  const state = sqlState(error) ?? "";
  const owner = state === "42501" ? await strangersOwner(client).catch(() => null) : null;
  const advice =
    owner === null
      ? advices.get(state)
      : `its tables belong to the role ${owner}, probably because that role restored a dump: restore the dump as the role of DATABASE_URL (pg_restore --no-owner --no-privileges), or make that role the tables' owner`;
  if (advice === undefined) return error;
  return new StartRefused(`cannot create or update the database's schema (${(error as Error).message}): ${advice}`);
}

/** Returns the owner of the tables, or null if our role has the owner's rights. */
async function strangersOwner(client: Session): Promise<string | null> {
  const { rows } = await client.query<{ owner: string }>(
    `select pg_get_userbyid(relowner) as owner from pg_class
     where oid = to_regclass('schema_migrations') and not pg_has_role(current_user, relowner, 'usage')`,
  );
  return rows[0]?.owner ?? null;
}

/**
 * Creates and grants `app_role` if the connecting user bypasses row-level security. A user who is no superuser must be
 * a member of the role.
 */
const grants = `do $$ declare is_super boolean; bypasses boolean; begin
  select rolsuper, rolbypassrls into is_super, bypasses from pg_roles where rolname = current_user;
  if not (is_super or bypasses) then return; end if;
  if to_regrole('${app_role}') is null then
    begin
      create role ${app_role} nologin;
    exception when duplicate_object or unique_violation then null;
    end;
  end if;
  if not is_super then
    begin
      execute format('grant ${app_role} to %I', current_user);
    exception when insufficient_privilege then -- Somebody else made the role, and has to have granted it.
      set local role ${app_role};
      set local role none;
    end;
  end if;
  execute format('grant usage on schema %I to ${app_role}', current_schema());
  execute format('grant select, insert, update, delete on all tables in schema %I to ${app_role}', current_schema());
end $$`;
