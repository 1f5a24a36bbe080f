/** Distributes the tables over a Citus cluster: rows of one organization are on one node (docs/how-to/scale.md). */
import { type ConnectionOptions, openClient } from "../database/connection.ts";
import type { Session } from "../database/session.ts";
import { StartRefused } from "../database/start-refused.ts";

/** `by_organization`: on the organization's node. `everywhere`: a copy on each node. */
export type Placement = "by_organization" | "everywhere";

export interface DistributedPart {
  readonly what: "table" | "function";
  readonly name: string;
  readonly placement: Placement;
}

/** Null: on the coordinator. */
interface Table {
  readonly name: string;
  readonly placement: Placement | null;
  readonly wanted: Placement;
}

export interface CitusState {
  readonly version: string;
  readonly undistributed: readonly string[];
}

/** The table beside which all other tables are placed. */
const first_table = "org_heads";

/** Null: the database has no extension `citus`. */
export async function readCitus(client: Session): Promise<CitusState | null> {
  const { rows } = await client.query<{ version: string | null; present: boolean }>(
    `select to_regclass('pg_dist_partition') is not null as present,
       (select extversion from pg_extension where extname = 'citus') as version`,
  );
  if (rows[0]?.present !== true) return null;
  const tables = await readTables(client);
  return {
    version: rows[0].version ?? "",
    undistributed: tables.filter(({ placement }) => placement === null).map(({ name }) => name),
  };
}

/**
 * Distributes the remaining tables and functions. Each step is a transaction, so a later run continues. Throws
 * `StartRefused`.
 */
export async function distribute(connection: ConnectionOptions, tell: (part: DistributedPart) => void): Promise<void> {
  const client = await openClient(connection, "countersign distribute");
  try {
    if ((await readCitus(client)) === null)
      throw new StartRefused(
        "this database has no extension citus",
        "install Citus on each server, name citus in shared_preload_libraries, restart, and run CREATE EXTENSION citus in this database on each server",
      );
    const { rows } = await client.query("select groupid from pg_dist_local_group");
    if (rows[0]?.groupid !== 0)
      throw new StartRefused("this server is a worker node of Citus", "name the coordinator in DATABASE_URL");
    const tables = await readTables(client);
    const wrong = tables.find(({ placement, wanted }) => placement !== null && placement !== wanted);
    if (wrong !== undefined)
      throw new StartRefused(
        `the table ${wrong.name} has another distribution than the one it must have`,
        `run SELECT undistribute_table('${wrong.name}'), then this command again`,
      );
    for (const { name, wanted } of tables.filter(({ placement }) => placement === null)) {
      await inTransaction(client, wanted === "everywhere" ? "select create_reference_table($1)" : placing(name), [
        name,
      ]);
      tell({ what: "table", name, placement: wanted });
    }
    for (const name of await readFunctions(client)) {
      const text = `select create_distributed_function($1, 'this_org', colocate_with := '${first_table}')`;
      await inTransaction(client, text, [name]);
      tell({ what: "function", name, placement: "by_organization" });
    }
  } finally {
    await client.end();
  }
}

const placing = (name: string) =>
  name === first_table
    ? "select create_distributed_table($1, 'org_id')"
    : `select create_distributed_table($1, 'org_id', colocate_with := '${first_table}')`;

/** Runs a step in the system scope, because it copies existing rows. */
async function inTransaction(client: Session, text: string, values: readonly string[]): Promise<void> {
  await client.query(client.begin({ "app.org": "*", idle_in_transaction_session_timeout: "0" }));
  try {
    await client.query(text, [...values]);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    throw error;
  }
}

/**
 * Returns the tables in the order of distribution. `schema_migrations` stays on the coordinator. In
 * `pg_dist_partition`, `h` is distributed by a column; `n` with `t` is on each node.
 */
async function readTables(client: Session): Promise<readonly Table[]> {
  const { rows } = await client.query<Table>(
    `select c.relname::text as name,
       case when p.partmethod = 'h' then 'by_organization' when p.partmethod = 'n' and p.repmodel = 't' then 'everywhere' end as placement,
       case when a.attname = 'org_id' then 'by_organization' else 'everywhere' end as wanted
     from pg_class c
     left join pg_dist_partition p on p.logicalrelid = c.oid
     left join pg_index i on i.indrelid = c.oid and i.indisprimary
     left join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
     where c.relnamespace = (select relnamespace from pg_class where oid = to_regclass('schema_migrations'))
       and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> 'schema_migrations'
     order by a.attname is not distinct from 'org_id', c.relname <> '${first_table}', c.relname`,
  );
  return rows;
}

async function readFunctions(client: Session): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select oid::regprocedure::text as name from pg_proc
     where pronamespace = (select relnamespace from pg_class where oid = to_regclass('schema_migrations'))
       and proargnames[1] = 'this_org' order by 1`,
  );
  return rows.map(({ name }) => name);
}
