/**
 * SQL of the deliverer and the settler: leases due deliveries, and writes how their attempts ended. Each statement is one
 * round trip and one transaction, so a node that dies between two statements leaves nothing half done.
 *
 * A node leases a delivery just before its attempt, never ahead. The lease raises `attempts`, so an attempt that nobody
 * settled still counts. All times are times of the database's clock.
 */
import type { Delivery } from "@countersign/contract";
import type { Db, QueueStatement } from "../../ports.ts";
import type { AuditRow } from "../audit/audit.ts";
import { type BinaryType, type BinaryValue, columnOf } from "../rows/binary.ts";
import { isHead } from "../rows/newest-head.ts";

/** An attempt that ended. */
export type AttemptRecord = Delivery["attempts"][number];

/**
 * A delivery leased for one attempt, with everything the attempt needs. The deliverer makes an attempt of it; `url` and
 * `secret_sealed` are null if the webhook is deleted or inactive.
 */
export interface LeasedDelivery {
  readonly org_id: string;
  readonly delivery_id: string;
  readonly webhook_id: string;
  readonly event_type: string;
  readonly intent_id: string | null;
  /** What the attempt sends, byte for byte. */
  readonly body: string;
  readonly original_delivery_id: string | null;
  /** The attempt that this lease permits: 1, 2 or 3. 4: the lease of the third attempt ran out, and nothing may be sent. */
  readonly number: number;
  /** The attempts that ended before. */
  readonly outcomes: readonly AttemptRecord[];
  readonly url: string | null;
  readonly secret_sealed: string | null;
}

/** Names one receiver. */
export interface ReceiverKey {
  readonly org_id: string;
  readonly webhook_id: string;
}

/** What a node has room for; a lease never exceeds it. Counts are attempts. */
export interface Room {
  /** Attempts that may begin in all. */
  readonly free: number;
  /** Of `free`, those kept for organizations that have at most `few` attempts in flight. */
  readonly reserve: number;
  readonly few: number;
  readonly per_organization: number;
  /** The share of a receiver that `receivers` does not list. */
  readonly per_webhook: number;
  /** By `receiverKey`: attempts in flight, and its share. */
  readonly receivers: Readonly<Record<string, readonly [in_flight: number, share: number]>>;
  /** By organization: attempts in flight. */
  readonly organizations: Readonly<Record<string, number>>;
  /** By organization, and `all`: bytes of large bodies in flight. Absent: none. */
  readonly large?: Readonly<Record<string, number>>;
  /** Longer than an attempt can take, with a margin. */
  readonly lease_ms: number;
}

/**
 * Bodies of more than `over` bytes are large. `all` bounds the bytes of large bodies in flight on a node, `organization`
 * those of one organization; a body above the bound goes alone. A bound by count was not enough: 192 bodies of 1 MiB
 * exhausted the thread's memory.
 */
export const large_bytes = { over: 65_536, all: 67_108_864, organization: 16_777_216 } as const;

/** The body's bytes if it is large, else 0. */
export function largeBytes({ body }: Pick<LeasedDelivery, "body">): number {
  if (body.length * 3 <= large_bytes.over) return 0; // a UTF-16 unit takes at most three bytes
  const bytes = Buffer.byteLength(body);
  return bytes > large_bytes.over ? bytes : 0;
}

/** Names one receiver among all organizations. */
export function receiverKey({ org_id, webhook_id }: ReceiverKey): string {
  return `${org_id} ${webhook_id}`;
}

/** SQL: the attempts in flight of an organization. */
const inFlightAt = (org_id: string) => `coalesce(($2::jsonb ->> ${org_id})::integer, 0)`;
/** SQL: the last place that an organization's delivery may have; the reserve is for those with few attempts in flight. */
const placesFor = (org_id: string) =>
  `$3::integer - case when turn + ${inFlightAt(org_id)} <= $5::integer then 0 else $4::integer end`;
/** SQL: the attempts that may begin at a receiver; negative after a failure halved its share. */
const roomAt = ({ org_id, webhook_id }: ReceiverKey) =>
  `(coalesce(($1::jsonb -> (${org_id} || ' ' || ${webhook_id}) ->> 1)::integer, $6::integer)
    - coalesce(($1::jsonb -> (${org_id} || ' ' || ${webhook_id}) ->> 0)::integer, 0))`;

/** SQL: a delivery is small, or fits; `sum` is its bytes and those before it. The first one fits if none is in flight. */
const fitsLarge = (sum: string, of: string, max: number) =>
  `(large = 0 or ${sum} + coalesce(($9::jsonb ->> ${of})::bigint, 0) <= ${max}
    or (${sum} = large and coalesce(($9::jsonb ->> ${of})::bigint, 0) = 0))`;
const fitsOrganization = fitsLarge("of_organization", "org_id", large_bytes.organization);
const fitsNode = fitsLarge("of_all", "'all'", large_bytes.all);

/**
 * Steps of the statement:
 *
 * 1. `walked`: finds each receiver with pending deliveries and its earliest due time. It goes from receiver to receiver
 *    along the index, so it reads one row of a backlog.
 * 2. `seen`: reads the due deliveries of each receiver, one more than the receiver or its organization has room for.
 * 3. `due` to `chosen`: fills the places round robin over organizations and their receivers, up to every bound.
 * 4. `locked`, `leased`: locks them, skips what another node has locked, and writes the leases.
 *
 * The answer holds a line for each lease, a line for each receiver that has more due than room, and a last line.
 */
const leaseStatement: QueueStatement = {
  name: "deliveries-lease",
  text: `with recursive clock as materialized (select clock_timestamp() as at),
  walked as (
    (select org_id, webhook_id, due_at from deliveries where status = 'pending' order by org_id, webhook_id, due_at limit 1)
    union all
    select n.org_id, n.webhook_id, n.due_at from walked w cross join lateral (
      select d.org_id, d.webhook_id, d.due_at from deliveries d
      where d.status = 'pending' and (d.org_id, d.webhook_id) > (w.org_id, w.webhook_id)
      order by d.org_id, d.webhook_id, d.due_at limit 1) n),
  receivers as (
    select w.org_id, w.webhook_id, greatest(${roomAt({ org_id: "w.org_id", webhook_id: "w.webhook_id" })}, 0) as room,
      greatest(least($3::integer, $7::integer - ${inFlightAt("w.org_id")}), 0) as places
    from walked w where w.due_at <= (select at from clock)),
  seen as materialized (
    select r.org_id, r.webhook_id, r.room, p.place_of, p.due_at, p.bytes,
      row_number() over (partition by r.org_id, r.webhook_id order by p.due_at) as rank
    from receivers r cross join lateral (
      select q.ctid as place_of, q.due_at, octet_length(q.body) as bytes from deliveries q
      where q.org_id = r.org_id and q.webhook_id = r.webhook_id and q.status = 'pending' and q.due_at <= (select at from clock)
      order by q.due_at limit least(r.room, r.places) + 1) p),
  due as materialized (
    select s.*, row_number() over (partition by s.org_id order by s.rank, s.due_at) as turn from seen s where s.rank <= s.room),
  placed as (
    select d.*, row_number() over (order by d.turn, d.due_at) as place from due d
    where d.turn + ${inFlightAt("d.org_id")} <= $7::integer),
  within as materialized (select org_id, place_of, place, case when bytes > ${large_bytes.over} then bytes else 0 end as large
    from placed where place <= ${placesFor("org_id")}),
  of_organizations as (
    select w.*, sum(w.large) over (partition by w.org_id order by w.place) as of_organization from within w),
  of_node as (
    select o.*, sum(o.large) over (order by o.place) as of_all from of_organizations o where ${fitsOrganization}),
  chosen as (select place_of from of_node where ${fitsNode}),
  locked as materialized (
    select l.ctid, l.attempts from chosen c cross join lateral (
      select d.ctid, d.attempts from deliveries d
      where d.ctid = c.place_of and d.status = 'pending' and d.due_at <= (select at from clock) limit 1 for update skip locked) l),
  leased as (
    update deliveries d
    set attempts = least(d.attempts + 1, 3), due_at = clock_timestamp() + $8::integer * interval '1 millisecond'
    from locked l where d.ctid = l.ctid
    returning d.*, l.attempts + 1 as number)
  select c.org_id, c.delivery_id, c.webhook_id, c.event_type, c.intent_id, c.body, c.original_delivery_id,
    c.number, c.outcomes, w.url, w.secret_sealed, null::float8 as due_in_ms, null::boolean as blocked
  from leased c left join lateral (
    select w.url, w.secret_sealed from webhooks w where w.org_id = c.org_id and w.webhook_id = c.webhook_id and w.active limit 1) w on true
  union all
  select org_id, null, webhook_id, null, null, null, null, null, null, null, null, null, null from seen where rank = room + 1
  union all
  select null, null, null, null, null, null, null, null, null, null, null,
    (extract(epoch from min(due_at) - (select at from clock)) * 1000)::float8,
    (select count(*) from due) > (select count(*) from locked) from walked`,
};

/** The result of a lease. */
export interface Leased {
  readonly deliveries: readonly LeasedDelivery[];
  /** Receivers that have more due than their share has room for. */
  readonly more: readonly ReceiverKey[];
  /** More would fit into the shares of receivers. A bound of the node or of an organization, or another node, prevented it. */
  readonly blocked: boolean;
  /** Milliseconds until the earliest of all pending deliveries was due when the lease began; negative: overdue, null: none is pending. */
  readonly due_in_ms: number | null;
}

type LeaseLine = Partial<LeasedDelivery> & {
  readonly delivery_id: string | null;
  readonly due_in_ms: number | null;
  readonly blocked: boolean | null;
};

/**
 * Leases due deliveries; each lease permits one attempt, which must begin at once. Places go round robin over
 * organizations. No receiver and no organization gets more than its share, even if its queue is long.
 */
export async function leaseDue(db: Pick<Db, "queued">, room: Room): Promise<Leased> {
  const lines = await db.queued<LeaseLine>(leaseStatement, [
    // Maps, because each join with a list was a loop over the list.
    JSON.stringify(room.receivers),
    JSON.stringify(room.organizations),
    room.free,
    room.reserve,
    room.few,
    room.per_webhook,
    room.per_organization,
    room.lease_ms,
    JSON.stringify(room.large ?? {}),
  ]);
  const deliveries: LeasedDelivery[] = [];
  const more: ReceiverKey[] = [];
  let [blocked, due_in_ms]: [boolean, number | null] = [false, null];
  for (const line of lines) {
    if (line.blocked !== null) ({ blocked, due_in_ms } = line);
    else if (line.delivery_id === null) more.push(line as ReceiverKey);
    else deliveries.push(line as LeasedDelivery);
  }
  return { deliveries, more, blocked, due_in_ms };
}

/** How a leased delivery goes on: the settler writes it. */
export interface Settlement {
  readonly delivery_id: string;
  /** The attempts begun when it was leased; a newer lease makes this settlement void. */
  readonly attempts: number;
  readonly status: Delivery["status"];
  /** All ended attempts. */
  readonly outcomes: readonly AttemptRecord[];
  /** Milliseconds from now to the next attempt; 0 unless `status` is `pending`. */
  readonly wait_ms: number;
  /** The row for the organization's audit trail; null: none. */
  readonly audit: AuditRow | null;
}

/**
 * Locks the deliveries in the order of their ids, then the organization's head, as deleting a webhook does. If another
 * transaction changed a delivery while the statement waited for it, the statement does not see the new row. It returns the
 * id then, and the caller settles that delivery with another statement.
 *
 * The commit does not wait for the disk, because decisions wait for the head. If the database's machine fails, lost
 * settlements are attempts that nobody settled: their leases run out and the attempts happen again.
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
    select s.*, l.ctid as place from (select * from input order by delivery_id) s cross join lateral (
      select d.ctid from deliveries d
      where d.org_id = $1 and d.delivery_id = s.delivery_id and d.attempts = s.attempts
        and (d.status = 'pending' or (d.status = 'cancelled' and s.status = 'delivered'))
      limit 1 for update) l),
  settled as materialized (
    update deliveries d set status = s.status, outcomes = s.outcomes,
      due_at = clock_timestamp() + s.wait_ms * interval '1 millisecond',
      settled_at = case when s.status = 'pending' then null else clock_timestamp() end
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
    from chained c cross join moved m)
  select l.delivery_id from quick left join locked l on l.delivery_id not in (select s.delivery_id from settled s)`,
};

/**
 * Settles leased deliveries of one organization, each together with its audit row; skips those whose lease is void. A
 * delivery that a receiver took counts as delivered even if its webhook was deleted meanwhile.
 */
export async function settle(
  db: Pick<Db, "queued">,
  org_id: string,
  settlements: readonly Settlement[],
): Promise<void> {
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
    ]);
    left = left.filter((settlement) => changed.some(({ delivery_id }) => delivery_id === settlement.delivery_id));
  }
}
