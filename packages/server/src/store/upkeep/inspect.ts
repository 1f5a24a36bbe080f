import { type ConnectionOptions, openClient } from "../database/connection.ts";
import { readMigrations } from "../database/migrate.ts";
import { settings_off } from "../database/settings-off.ts";
import { microseconds } from "../rows/microseconds.ts";
import { type CitusState, readCitus } from "./distribute.ts";

/** Maximum sessions of a node: 20 of its pools, six of its deliveries thread, two that commit. */
export const node_sessions_max = 28;

/** A transaction that keeps the server from vacuuming. */
interface OpenTransaction {
  readonly who: string;
  readonly open_s: number;
}

export interface DatabaseState {
  readonly server_version: string;
  readonly server_major: number;
  /** Settings that are off, so a machine crash can lose answered decisions. */
  readonly unsafe: readonly string[];
  /** Settings that are off, so rows are never vacuumed. */
  readonly unvacuumed: readonly string[];
  readonly read_only: boolean;
  /** True: the role bypasses row-level security, and sessions switch to another role. */
  readonly bypasses_rls: boolean;
  /** Sessions that server, database and role allow, including those of other programs. */
  readonly sessions_max: number;
  /** At most three, longest first. Those of other roles need `pg_read_all_stats`. */
  readonly transactions: readonly OpenTransaction[];
  readonly applied: readonly string[];
  readonly pending: readonly string[];
  /** Null: no extension `citus`, or none of our tables. */
  readonly citus: CitusState | null;
  /** The database's clock, in microseconds since the Unix epoch. */
  readonly now_us: number;
}

/** SQL. Reserved sessions do not count; -1 means no limit. */
const sessions_max_query = `least(
    current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
      - coalesce(current_setting('reserved_connections', true)::integer, 0),
    (select nullif(datconnlimit, -1) from pg_database where datname = current_database()),
    (select nullif(rolconnlimit, -1) from pg_roles where rolname = session_user))`;

/** SQL. A transaction without a lasting snapshot does not prevent vacuuming. */
const open_transactions = `(select coalesce(json_agg(t order by t.open_s desc), '[]') from (
    select who, extract(epoch from clock_timestamp() - since)::float8 as open_s from (
      select format('session %s (%s, %s)', pid, coalesce(nullif(application_name, ''), 'without a name'), state) as who, xact_start as since
      from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and coalesce(backend_xmin, backend_xid) is not null
        and backend_type = 'client backend'
      union all
      select 'prepared transaction ' || gid, prepared from pg_prepared_xacts where database = current_database()) as held
    where since is not null order by since limit 3) t)`;

export async function inspectDatabase(connection: ConnectionOptions): Promise<DatabaseState> {
  const client = await openClient(connection, "countersign doctor");
  try {
    const { rows } = await client.query(
      `select current_setting('server_version') as server_version,
         current_setting('server_version_num')::integer / 10000 as server_major,
         ${settings_off},
         current_setting('transaction_read_only') = 'on' as read_only,
         (select rolsuper or rolbypassrls from pg_roles where rolname = current_user) as bypasses_rls,
         ${sessions_max_query} as sessions_max,
         ${open_transactions} as transactions,
         to_regclass('schema_migrations') is not null as migrated,
         ${microseconds("clock_timestamp()")} as now_us`,
    );
    const { migrated, ...state } = rows[0];
    const ledger = migrated
      ? await client.query("select name from schema_migrations where version > 0 order by version")
      : { rows: [] };
    const applied = ledger.rows.map((row) => row.name as string);
    const pending = (await readMigrations()).map(({ name }) => name).slice(applied.length);
    const citus = migrated ? await readCitus(client) : null;
    return { ...state, applied, pending, citus };
  } finally {
    await client.end();
  }
}
