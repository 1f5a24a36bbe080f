/** Reads what `countersign doctor` reports about replicas, and changes nothing. */
import { type ConnectionOptions, openClient } from "../database/connection.ts";
import { nameOf } from "../database/replicas.ts";
import { reasonOf, type Session } from "../database/session.ts";

/** A replica that answered. */
export interface ReplicaState {
  /** False: it takes writes, so it is the primary or no replica at all. */
  readonly standby: boolean;
  /** False: it was never copied from this primary. */
  readonly same_system: boolean;
  /** How much of the primary's log it has not replayed. */
  readonly behind_bytes: number;
  /** Age of the newest commit that it has, in seconds; null: it has none since it started. */
  readonly newest_s: number | null;
  /** False: the primary may end long reads there. */
  readonly feedback: boolean;
}

/** A replica, or why it does not answer. */
export type InspectedReplica = { readonly name: string } & (
  | { readonly state: ReplicaState }
  | { readonly unreachable: string }
);

/** Looks at each replica through one session. Rejects when the primary cannot be reached. */
export async function inspectReplicas(
  primary: ConnectionOptions,
  replicas: readonly ConnectionOptions[],
): Promise<InspectedReplica[]> {
  if (replicas.length === 0) return [];
  const { system, lsn } = await withSession(primary, async (session) => {
    const { rows } = await session.query(
      "select system_identifier::text as system, pg_current_wal_lsn()::text as lsn from pg_control_system()",
    );
    return rows[0] as { system: string; lsn: string };
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

async function readState(session: Session, system: string, lsn: string): Promise<ReplicaState> {
  const { rows } = await session.query(
    `select pg_is_in_recovery() as standby, system_identifier::text = $1 as same_system,
       coalesce(greatest(pg_wal_lsn_diff($2::pg_lsn, pg_last_wal_replay_lsn()), 0), 0)::float8 as behind_bytes,
       extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp())::float8 as newest_s,
       current_setting('hot_standby_feedback') = 'on' as feedback
     from pg_control_system()`,
    [system, lsn],
  );
  return rows[0] as ReplicaState;
}

async function withSession<T>(connection: ConnectionOptions, work: (session: Session) => Promise<T>): Promise<T> {
  const session = await openClient(connection, "countersign doctor");
  try {
    return await work(session);
  } finally {
    await session.end();
  }
}
