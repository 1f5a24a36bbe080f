/**
 * SQL of the nodes that write streams. A node leases a stream, and stores the end of an object before it writes the
 * object. `turn` names the lease. A statement with an earlier turn changes nothing.
 */
import { limits } from "@countersign/contract";
import type { Db, Query, QueueStatement } from "../../ports.ts";
import type { StoredStream } from "./streams.ts";

/** This many records do not wait for further ones. */
const full_records = 4_000;
/** Time after the end of an hour in which its last entries are committed. Later ones make a further object. */
const grace = "interval '1 minute'";

export interface StreamKey {
  readonly org_id: string;
  readonly stream_id: string;
}

/** Returns streams with an object to write. System scope. */
export function dueStreams(query: Query, limit: number): Promise<StreamKey[]> {
  return query<StreamKey>(
    `select s.org_id, s.stream_id from streams s join logs g on g.org_id = s.org_id
     left join lateral (
       select l.at from ledger l where l.org_id = s.org_id and l.seq > s.seq and l.seq <= g.seq order by l.seq limit 1) n on true
     where s.active and s.due_at <= statement_timestamp()
       and (n.at <= statement_timestamp() - make_interval(secs => ${limits.stream_wait_seconds})
         or g.seq >= s.seq + ${full_records}
         or (n.at is null and exists (
           select from stream_hours h where h.org_id = s.org_id and h.stream_id = s.stream_id and not h.closed
             and h.hour + interval '1 hour' + ${grace} <= statement_timestamp())))
     order by s.due_at limit $1::integer`,
    [limit],
  );
}

/** Lets one node write a stream until `due_at`. */
export interface StreamLease extends StoredStream, StreamKey {
  readonly turn: number;
  /** ledger.seq of the last entry under a checkpoint. */
  readonly covered_seq: number;
}

/** Null: another node writes the stream, or it is not active. */
export async function leaseStream(
  query: Query,
  { org_id, stream_id }: StreamKey,
  lease_seconds: number,
): Promise<StreamLease | null> {
  const [lease] = await query<StreamLease>(
    `update streams s set turn = s.turn + 1, due_at = statement_timestamp() + make_interval(secs => $3::integer)
     from logs g where s.org_id = $1 and s.stream_id = $2 and g.org_id = $1 and s.active and s.due_at <= statement_timestamp()
     returning s.org_id, s.stream_id, s.name, s.format, s.target, s.settings, s.secret_sealed, s.active, s.seq, s.turn, g.seq as covered_seq`,
    [org_id, stream_id, lease_seconds],
  );
  return lease ?? null;
}

/** The next thing to write after the position. `hour` is RFC 3339. */
export type StreamStep =
  | { readonly kind: "nothing" }
  /** The checkpoint of an hour that is over, which has `number` objects. */
  | { readonly kind: "close"; readonly hour: string; readonly number: number; readonly note: string }
  /** Object `number` of the hour: entries after `after` up to `to`. `to` null: its end is not stored yet. */
  | {
      readonly kind: "object";
      readonly hour: string;
      readonly number: number;
      readonly after: number;
      readonly to: number | null;
    };

interface Place {
  readonly current: string | null;
  readonly objects: number | null;
  readonly closed: boolean | null;
  readonly over: boolean | null;
  readonly next_hour: string | null;
  readonly note: string;
}

export async function nextStep(
  query: Query,
  { org_id, stream_id, covered_seq }: Pick<StreamLease, "org_id" | "stream_id" | "covered_seq">,
  seq: number,
): Promise<StreamStep> {
  const [place] = await query<Place>(
    `select c.hour as current, c.objects, c.closed, c.hour + interval '1 hour' + ${grace} <= statement_timestamp() as over,
       case when n.at is not null then greatest(c.hour, date_trunc('hour', n.at, 'UTC')) end as next_hour, g.note
     from logs g
     left join lateral (
       select h.hour, h.closed, cardinality(h.ends) as objects from stream_hours h where h.org_id = $1 and h.stream_id = $2 and h.ends[1] <= $3::bigint
       order by h.hour desc limit 1) c on true
     left join lateral (
       select l.at from ledger l where l.org_id = $1 and l.seq > $3::bigint and l.seq <= $4::bigint order by l.seq limit 1) n on true
     where g.org_id = $1`,
    [org_id, stream_id, seq, covered_seq],
  );
  if (place === undefined) throw new Error(`organization ${org_id} has no log`);
  const { current, objects, closed, over, next_hour: hour, note } = place;
  if (current !== null && closed === false && (hour === null ? over === true : hour > current))
    return { kind: "close", hour: current, number: objects ?? 0, note };
  if (hour === null) return { kind: "nothing" };
  const ends = await readEnds(query, { org_id, stream_id }, hour);
  const at = ends.findIndex((end) => end > seq);
  const number = (at === -1 ? ends.length : at) + 1;
  return { kind: "object", hour, number, after: seq, to: at === -1 ? null : (ends[at] ?? null) };
}

async function readEnds(query: Query, { org_id, stream_id }: StreamKey, hour: string): Promise<readonly number[]> {
  const [row] = await query<{ ends: (number | string)[] }>(
    "select ends from stream_hours where org_id = $1 and stream_id = $2 and hour = $3::timestamptz",
    [org_id, stream_id, hour],
  );
  return (row?.ends ?? []).map(Number);
}

export type HeldLease = Pick<StreamLease, "org_id" | "stream_id" | "turn">;

/** Returns whether the lease still holds. The row stays locked until the transaction ends. */
async function holds(query: Query, { org_id, stream_id, turn }: HeldLease): Promise<boolean> {
  const found = await query(
    "select true as held from streams where org_id = $1 and stream_id = $2 and turn = $3::bigint and active for update",
    [org_id, stream_id, turn],
  );
  return found.length > 0;
}

/** Stores where object `number` of the hour ends. Returns false if the lease ended. */
export async function saveEnd(
  query: Query,
  lease: HeldLease,
  { hour, number, to }: { readonly hour: string; readonly number: number; readonly to: number },
): Promise<boolean> {
  if (!(await holds(query, lease))) return false;
  const saved = await query(
    `insert into stream_hours as h (org_id, stream_id, hour, ends) values ($1, $2, $3::timestamptz, array[$4::bigint])
     on conflict (org_id, stream_id, hour) do update set ends = h.ends || excluded.ends, closed = false
       where cardinality(h.ends) = $5::integer - 1
     returning true as saved`,
    [lease.org_id, lease.stream_id, hour, to, number],
  );
  return saved.length > 0;
}

/** The store has all entries up to `to`. Returns false if the lease ended. */
export async function savePosition(
  query: Query,
  { org_id, stream_id, turn }: HeldLease,
  { after, to }: { readonly after: number; readonly to: number },
): Promise<boolean> {
  const saved = await query(
    `update streams set seq = $5::bigint, attempts = 0, problem = null, failing_since = null, written_at = statement_timestamp()
     where org_id = $1 and stream_id = $2 and turn = $3::bigint and active and seq = $4::bigint returning true as saved`,
    [org_id, stream_id, turn, after, to],
  );
  return saved.length > 0;
}

/** The store has the checkpoint of the hour. Returns false if the lease ended. */
export async function saveClosed(query: Query, lease: HeldLease, hour: string): Promise<boolean> {
  if (!(await holds(query, lease))) return false;
  await query("update stream_hours set closed = true where org_id = $1 and stream_id = $2 and hour = $3::timestamptz", [
    lease.org_id,
    lease.stream_id,
    hour,
  ]);
  await query(
    `update streams set attempts = 0, problem = null, failing_since = null, written_at = statement_timestamp()
     where org_id = $1 and stream_id = $2`,
    [lease.org_id, lease.stream_id],
  );
  return true;
}

/** Ends the lease, so that any node may write the rest. */
export async function endLease(query: Query, { org_id, stream_id, turn }: HeldLease): Promise<void> {
  await query(
    "update streams set due_at = statement_timestamp() where org_id = $1 and stream_id = $2 and turn = $3::bigint",
    [org_id, stream_id, turn],
  );
}

/** Waits 10 s after the first failure and twice as long after each further one, at most 10 minutes. Returns whether the problem is new. */
export async function saveStreamProblem(
  query: Query,
  { org_id, stream_id, turn }: HeldLease,
  problem: string,
): Promise<boolean> {
  const [before] = await query<{ problem: string | null }>(
    "select problem from streams where org_id = $1 and stream_id = $2 and turn = $3::bigint for update",
    [org_id, stream_id, turn],
  );
  if (before === undefined) return false;
  await query(
    `update streams set problem = $4, failing_since = coalesce(failing_since, statement_timestamp()), attempts = attempts + 1,
       due_at = statement_timestamp() + make_interval(secs => least(600, 10 * 2 ^ least(attempts, 10)))
     where org_id = $1 and stream_id = $2 and turn = $3::bigint`,
    [org_id, stream_id, turn, problem],
  );
  return before.problem !== problem;
}

export interface StreamFigures {
  readonly failing: number;
  /** Age of the oldest unwritten entry of all active streams; 0: none. */
  readonly lag_seconds: number;
}

const figures: QueueStatement = {
  name: "stream-figures",
  text: `select count(*) filter (where s.problem is not null)::integer as failing,
      coalesce(greatest(0, extract(epoch from statement_timestamp() - min(n.at)))::float8, 0) as lag_seconds
    from streams s left join lateral (
      select l.at from ledger l where l.org_id = s.org_id and l.seq > s.seq order by l.seq limit 1) n on true
    where s.active`,
};

/** Of all organizations. */
export async function readStreamFigures(db: Pick<Db, "queued">): Promise<StreamFigures> {
  const [row] = await db.queued<StreamFigures>(figures, []);
  if (row === undefined) throw new Error("the count returned no row");
  return row;
}
