import { type ConnectionOptions, openClient, sqlState } from "../database/connection.ts";
import { nameOf } from "../database/replicas.ts";
import { reasonOf, type Session } from "../database/session.ts";

export interface ReplicaState {
  /** False: accepts writes, so it is no replica. */
  readonly standby: boolean;
  /** False: not copied from this primary. True if the role may not know. */
  readonly same_system: boolean;
  /** Log bytes that it has not replayed. */
  readonly behind_bytes: number;
  /** Age of its newest commit. Null: no commit since its start. */
  readonly newest_s: number | null;
  /** False: the primary may end long reads there. */
  readonly feedback: boolean;
}

export type InspectedReplica = { readonly name: string } & (
  | { readonly state: ReplicaState }
  | { readonly unreachable: string }
);

export async function inspectReplicas(
  primary: ConnectionOptions,
  replicas: readonly ConnectionOptions[],
): Promise<InspectedReplica[]> {
  if (replicas.length === 0) return [];
  const { system, lsn } = await withSession(primary, async (session) => {
    const { rows } = await session.query(
      "select (case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end)::text as lsn",
    );
    return { system: await systemOf(session), lsn: rows[0].lsn as string };
  });
  const inspect = async (replica: ConnectionOptions): Promise<InspectedReplica> => {
    const name = nameOf(replica);
    try {
      return { name, state: await withSession(replica, (session) => readState(session, system, lsn)) };
    } catch (error) {
      return { name, unreachable: reasonOf(error) };
    }
  };
  return Promise.all(replicas.map(inspect));
}

/** Returns null if the role may not know. */
async function systemOf(session: Session): Promise<string | null> {
  try {
    return (await session.query("select system_identifier::text as system from pg_control_system()")).rows[0].system;
  } catch (error) {
    if (sqlState(error) === "42501") return null;
    throw error;
  }
}

async function readState(session: Session, system: string | null, lsn: string): Promise<ReplicaState> {
  const own = await systemOf(session);
  const { rows } = await session.query(
    `select pg_is_in_recovery() as standby,
       coalesce(greatest(pg_wal_lsn_diff($1::pg_lsn, pg_last_wal_replay_lsn()), 0), 0)::float8 as behind_bytes,
       extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp())::float8 as newest_s,
       current_setting('hot_standby_feedback') = 'on' as feedback`,
    [lsn],
  );
  return { ...rows[0], same_system: own === null || system === null || own === system };
}

async function withSession<T>(connection: ConnectionOptions, work: (session: Session) => Promise<T>): Promise<T> {
  const session = await openClient(connection, "countersign doctor");
  try {
    return await work(session);
  } finally {
    await session.end();
  }
}
