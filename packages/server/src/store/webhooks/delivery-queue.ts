/**
 * SQL of the deliverer and the settler. Each statement is one transaction, so a node that dies leaves nothing half
 * done.
 *
 * A node leases a delivery just before its attempt. The lease raises `attempts`, so an unsettled attempt counts. All
 * times are of the database's clock.
 */
import type { Delivery } from "@countersign/contract";
import type { Db, Query, QueueStatement } from "../../ports.ts";
import type { AuditRow } from "../audit/audit.ts";
import { type BinaryType, type BinaryValue, columnOf } from "../rows/binary.ts";
import { isHead } from "../rows/newest-head.ts";

export type AttemptRecord = Delivery["attempts"][number];

/**
 * A delivery leased for one attempt. `url` and `secret_sealed` are null if the webhook is deleted, inactive or paused.
 * Without an overlap, only the valid secret is set.
 */
export interface LeasedDelivery {
  readonly org_id: string;
  readonly delivery_id: string;
  readonly webhook_id: string;
  readonly event_type: string;
  readonly intent_id: string | null;
  /** The request body, byte for byte. */
  readonly body: string;
  readonly original_delivery_id: string | null;
  /** The permitted attempt: 1, 2 or 3. 4: the lease of the third expired; send nothing. */
  readonly number: number;
  readonly outcomes: readonly AttemptRecord[];
  readonly url: string | null;
  readonly secret_sealed: string | null;
  readonly next_secret_sealed: string | null;
  readonly headers_sealed: string | null;
  /** Null: the webhook is deleted or inactive. */
  readonly paused: boolean | null;
}

/** Free capacity of a node for one organization. */
export interface Room {
  readonly places: number;
  /** The same by webhook. */
  readonly receivers: Readonly<Record<string, number>>;
  /** The same for webhooks not in `receivers`. */
  readonly per_webhook: number;
  /** Bytes of large bodies that may begin. */
  readonly large_bytes: number;
  /** The limit for a large body that goes alone. */
  readonly lone_bytes: number;
  /** Longer than any attempt. */
  readonly lease_ms: number;
}

/**
 * Bodies above `over` bytes are large. `all` limits large bodies in flight on a node, `organization` those of one
 * organization; a larger body goes alone. Limiting by count was not enough: 192 bodies of 1 MiB exhausted the thread's
 * memory.
 */
export const large_bytes = { over: 65_536, all: 67_108_864, organization: 16_777_216 } as const;

/** Returns the bytes of a large body, or 0 for a small one. */
export function largeBytes({ body }: Pick<LeasedDelivery, "body">): number {
  if (body.length * 3 <= large_bytes.over) return 0; // a UTF-16 unit takes at most three bytes
  const bytes = Buffer.byteLength(body);
  return bytes > large_bytes.over ? bytes : 0;
}

/** Returns organizations with due deliveries. System scope. */
export async function organizationsWithDue(query: Query): Promise<readonly string[]> {
  const found = await query<{ org_id: string }>(
    `select o.org_id from organizations o where exists (
       select 1 from deliveries d where d.org_id = o.org_id and d.status = 'pending' and d.due_at <= now())`,
  );
  return found.map(({ org_id }) => org_id);
}

/**
 * Steps of the statement:
 *
 * 1. `walked`: finds each receiver's earliest due time, going from receiver to receiver in the index.
 * 2. `seen`: reads due deliveries of each receiver, one more than there is room for.
 * 3. `due` to `chosen`: fills the places round robin, up to every limit.
 * 4. `locked`, `leased`: locks them, skips rows locked by other nodes, and writes the leases.
 *
 * Returns a line for each lease, a line for each receiver with more due than room, and a last line.
 */
const leaseStatement: QueueStatement = {
  name: "deliveries-lease",
  text: `with recursive clock as materialized (
    select at, at + $7::integer * interval '1 millisecond' as lease_ends from (select clock_timestamp() as at) c),
  walked as (
    (select webhook_id, due_at from deliveries where org_id = $1 and status = 'pending' order by webhook_id, due_at limit 1)
    union all
    select n.webhook_id, n.due_at from walked w cross join lateral (
      select d.webhook_id, d.due_at from deliveries d
      where d.org_id = $1 and d.status = 'pending' and d.webhook_id > w.webhook_id order by d.webhook_id, d.due_at limit 1) n),
  receivers as (
    select webhook_id, greatest(coalesce(($2::jsonb ->> webhook_id)::integer, $3::integer), 0) as room
    from walked where due_at <= (select at from clock)),
  seen as materialized (
    select r.webhook_id, r.room, p.*, row_number() over (partition by r.webhook_id order by p.due_at) as rank
    from receivers r cross join lateral (
      select q.delivery_id, q.due_at, octet_length(q.body) as bytes from deliveries q
      where q.org_id = $1 and q.webhook_id = r.webhook_id and q.status = 'pending' and q.due_at <= (select at from clock)
      order by q.due_at limit least(r.room, $4::integer) + 1) p),
  due as materialized (
    select delivery_id, case when bytes > ${large_bytes.over} then bytes else 0 end as large,
      row_number() over (order by rank, due_at) as turn from seen where rank <= room),
  placed as (
    select delivery_id, large, sum(large) over (order by turn) as large_sum from due where turn <= $4::integer),
  chosen as materialized (
    select delivery_id from placed
    where large = 0 or large_sum <= $5::bigint or (large_sum = large and large <= $6::bigint)),
  locked as materialized (
    select l.* from chosen c cross join lateral (
      select d.ctid as place, d.attempts, d.status, d.due_at from deliveries d
      where d.org_id = $1 and d.delivery_id = c.delivery_id limit 1 for update skip locked) l
    where l.status = 'pending' and l.due_at <= (select at from clock)),
  leased as (
    update deliveries d set attempts = least(d.attempts + 1, 3), due_at = c.lease_ends
    from locked l, clock c where d.org_id = $1 and d.ctid = l.place
    returning d.*, l.attempts + 1 as number)
  select c.org_id, c.delivery_id, c.webhook_id, c.event_type, c.intent_id, c.body, c.original_delivery_id,
    c.number, c.outcomes, case when not w.paused then w.url end as url,
    case when w.paused then null when w.overlap_is_over then w.next_secret_sealed else w.secret_sealed end as secret_sealed,
    case when not w.overlap_is_over then w.next_secret_sealed end as next_secret_sealed, w.headers_sealed, w.paused,
    null::boolean as blocked
  from leased c left join lateral (
    select w.url, w.secret_sealed, w.next_secret_sealed, coalesce(w.overlap_ends_at <= (select at from clock), false) as overlap_is_over,
      w.headers_sealed, w.paused_at is not null as paused
    from webhooks w where w.org_id = $1 and w.webhook_id = c.webhook_id and w.active limit 1) w on true
  union all
  select $1, null, webhook_id, null, null, null, null, null, null, null, null, null, null, null, null from seen where rank = room + 1
  union all
  select $1, null, null, null, null, null, null, null, null, null, null, null, null, null,
    (select count(*) from due) > (select count(*) from locked)`,
};

export interface Leased {
  readonly deliveries: readonly LeasedDelivery[];
  /** Webhooks with more due deliveries than their share. */
  readonly more: readonly string[];
  /** Receivers had room, but another limit or another node prevented more. */
  readonly blocked: boolean;
}

type LeaseLine = Partial<LeasedDelivery> & { readonly delivery_id: string | null; readonly blocked: boolean | null };

/**
 * Leases due deliveries. Each lease permits one attempt, which must begin at once. Receivers take turns, none above its
 * share.
 */
export async function leaseDue(db: Pick<Db, "queued">, org_id: string, room: Room): Promise<Leased> {
  const lines = await db.queued<LeaseLine>(leaseStatement, [
    org_id,
    // A map, because each join with a list was a loop.
    JSON.stringify(room.receivers),
    room.per_webhook,
    room.places,
    room.large_bytes,
    room.lone_bytes,
    room.lease_ms,
  ]);
  const deliveries: LeasedDelivery[] = [];
  const more: string[] = [];
  let blocked = false;
  for (const line of lines) {
    if (line.blocked !== null) ({ blocked } = line);
    else if (line.delivery_id === null) more.push(line.webhook_id as string);
    else deliveries.push(line as LeasedDelivery);
  }
  return { deliveries, more, blocked };
}

export interface Settlement {
  readonly delivery_id: string;
  /** Attempts begun at the lease. A newer lease makes this settlement void. */
  readonly attempts: number;
  readonly status: Delivery["status"];
  readonly outcomes: readonly AttemptRecord[];
  /** Milliseconds from now to the next attempt; 0 unless `pending`. */
  readonly wait_ms: number;
  readonly audit: AuditRow | null;
}

/** Sums of a batch of attempts for one webhook. */
export interface Watched {
  readonly webhook_id: string;
  readonly attempts: number;
  readonly accepted: number;
  /** Attempts by duration. */
  readonly durations: readonly number[];
  /** Whether a delivery succeeded. */
  readonly succeeded: boolean;
  /** Failed deliveries since then, or of the whole batch. */
  readonly failures: number;
}

/**
 * Locks the deliveries by id, then the organization's head, then health and webhooks. If another transaction changed a delivery meanwhile, the
 * statement returns its id, and the caller repeats it.
 *
 * The commit does not wait for the disk, because decisions wait for the head. If the database's machine fails,
 * settlements may be lost. Their leases expire, and the attempts happen again.
 */
const settleStatement: QueueStatement = {
  name: "deliveries-settle",
  text: `with
  quick as materialized (select set_config('synchronous_commit', 'off', true) as synchronous_commit),
  input as materialized (
    select * from unnest($2::text[], $3::bigint[], $4::text[], $5::json[], $6::bigint[], $7::text[], $8::text[], $9::text[], $10::text[],
      $11::timestamptz[], $12::json[], $13::bytea[], $14::bytea[])
      with ordinality as s(delivery_id, attempts, status, outcomes, wait_ms, audit_id, intent_id, type, actor, at, data, salt, hash, n)),
  locked as materialized (
    select s.*, l.ctid as place, clock_timestamp() as settled_at,
      clock_timestamp() + s.wait_ms * interval '1 millisecond' as due_at
    from (select * from input order by delivery_id) s cross join lateral (
      select d.ctid from deliveries d
      where d.org_id = $1 and d.delivery_id = s.delivery_id and d.attempts = s.attempts
        and (d.status = 'pending' or (d.status = 'cancelled' and s.status = 'delivered'))
      limit 1 for update) l),
  settled as materialized (
    update deliveries d set status = s.status, outcomes = s.outcomes, due_at = s.due_at,
      settled_at = case when s.status = 'pending' then null else s.settled_at end
    from locked s where d.org_id = $1 and d.ctid = s.place
    returning s.*),
  chained as materialized (select s.*, row_number() over (order by s.n) as k from settled s where s.audit_id is not null),
  moved as (
    update org_heads h set audit_seq = h.audit_seq + c.added, entries = h.entries + c.added, audit_root = sha256(h.audit_root || c.hashes)
    from (select count(*) as added, string_agg(hash, ''::bytea order by k) as hashes from chained having count(*) > 0) c
    where ${isHead("$1")}
    returning h.audit_seq - c.added as seq_before, h.entries - c.added as entries_before, c.added, h.audit_root),
  put_audit as (
    insert into ledger (org_id, seq, entry, audit_id, intent_id, type, actor, at, data, data_salt, hash, root)
    select $1, m.seq_before + c.k, m.entries_before + c.k - 1, c.audit_id, c.intent_id, c.type, c.actor, c.at, c.data, c.salt, c.hash,
      case when c.k = m.added then m.audit_root end
    from chained c cross join moved m),
  watched as materialized (
    select w.*, clock_timestamp() as at from json_to_recordset($15::json)
      as w(webhook_id text, attempts bigint, accepted bigint, durations bigint[], succeeded boolean, failures integer)
    where (select count(*) from moved) >= 0),
  counted as (
    insert into webhook_health as h (org_id, webhook_id, hour, attempts, accepted, durations, last_success_at, last_failure_at)
    select $1, webhook_id, date_trunc('hour', at, 'UTC'), attempts, accepted, durations, case when accepted > 0 then at end,
      case when accepted < attempts then at end
    from watched where attempts > 0 order by webhook_id
    on conflict (org_id, webhook_id, hour) do update set
      attempts = h.attempts + excluded.attempts, accepted = h.accepted + excluded.accepted,
      durations = array(select a + b from unnest(h.durations, excluded.durations) with ordinality as d(a, b, n) order by n),
      last_success_at = greatest(h.last_success_at, excluded.last_success_at),
      last_failure_at = greatest(h.last_failure_at, excluded.last_failure_at)),
  streaks as (
    update webhooks w set failures_in_row = case when s.succeeded then 0 else w.failures_in_row end + s.failures,
      alerted_at = case when s.succeeded then null else w.alerted_at end
    from watched s where w.org_id = $1 and w.webhook_id = s.webhook_id
      and (s.failures > 0 or (s.succeeded and w.failures_in_row > 0)))
  select l.delivery_id from quick left join locked l on l.delivery_id not in (select s.delivery_id from settled s)`,
};

/**
 * Settles deliveries and skips void leases. An accepted delivery counts as delivered even if its webhook was deleted.
 * Counts `watched` once, also if other transactions make the statement repeat.
 */
export async function settle(
  db: Pick<Db, "queued">,
  org_id: string,
  settlements: readonly Settlement[],
  watched: readonly Watched[] = [],
): Promise<void> {
  let uncounted = watched;
  for (let left = settlements; left.length > 0; ) {
    const column = (type: BinaryType, of: (settlement: Settlement) => BinaryValue) => columnOf(type, left.map(of));
    const ofAudit = (type: BinaryType, member: keyof AuditRow) => column(type, ({ audit }) => audit?.[member] ?? null);
    const changed = await db.queued<{ delivery_id: string | null }>(settleStatement, [
      org_id,
      column("text", ({ delivery_id }) => delivery_id),
      column("bigint", ({ attempts }) => attempts),
      column("text", ({ status }) => status),
      column("json", ({ outcomes }) => JSON.stringify(outcomes)),
      column("bigint", ({ wait_ms }) => wait_ms),
      ...(["audit_id", "intent_id", "type", "actor"] as const).map((member) => ofAudit("text", member)),
      ofAudit("timestamptz", "at"),
      ofAudit("json", "data"),
      ofAudit("bytea", "salt"),
      ofAudit("bytea", "hash"),
      JSON.stringify(uncounted),
    ]);
    uncounted = [];
    left = left.filter((settlement) => changed.some(({ delivery_id }) => delivery_id === settlement.delivery_id));
  }
}
