/**
 * Distributes the tables over the nodes of a Citus cluster: rows of one organization are on one node (docs/how-to/scale.md).
 */
import { type ConnectionOptions, openClient } from "../database/connection.ts";
import type { Session } from "../database/session.ts";
import { StartRefused } from "../database/start-refused.ts";

/**
 * Where the rows of a table are. `by_organization`: with their organization; its key begins with `org_id`.
 * `everywhere`: a copy on each node.
 */
export type Placement = "by_organization" | "everywhere";

/** One step of the distribution. It is reported when it is done. */
export interface DistributedPart {
  readonly what: "table" | "function";
  readonly name: string;
  readonly placement: Placement;
}

/** Where a table is now (null: on the coordinator only), and where it must be. */
interface Table {
  readonly name: string;
  readonly placement: Placement | null;
  readonly wanted: Placement;
}

/** The state of Citus in a database. */
export interface CitusState {
  readonly version: string;
  /** The tables that are on the coordinator only. */
  readonly undistributed: readonly string[];
}

/** The other tables of an organization are placed on the node of its head. */
const first_table = "org_heads";

/** Reads which tables are distributed. Null: the database has no extension `citus`. */
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
 * Distributes the remaining tables, and the functions that work on one organization. Each step is a transaction of its
 * own, so a later run continues an interrupted one. Throws `StartRefused`.
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

/** Existing rows of a table are copied, so they must be visible. */
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
 * Tables in the order in which they can be distributed. `schema_migrations` stays on the coordinator, where migrations run. Citus
 * has a row of `pg_dist_partition` for each table that it knows: `h` is distributed by a column; `n` with `t` is on each node.
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

/** Returns the functions whose first parameter is the organization that they work on. */
async function readFunctions(client: Session): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select oid::regprocedure::text as name from pg_proc
     where pronamespace = (select relnamespace from pg_class where oid = to_regclass('schema_migrations'))
       and proargnames[1] = 'this_org' order by 1`,
  );
  return rows.map(({ name }) => name);
}
