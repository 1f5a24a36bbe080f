/**
 * Three statements are between an event and its receivers: dispatch (`dispatch-events.ts`), claim and settle. Each is one
 * round trip and one transaction, so a node that dies between two of them leaves nothing half done. Source: architecture.md §5.
 *
 * A delivery is leased just before its own attempt, never ahead: the lease raises `attempts`, so an attempt that nobody
 * settled still counts. All times are of the database's clock.
 */
import type { Delivery } from "@countersign/contract";
import type { Db, QueueStatement } from "../../ports.ts";
import type { AuditRow } from "../audit/audit.ts";
import { type BinaryType, type BinaryValue, columnOf } from "../rows/binary.ts";
import { isHead } from "../rows/newest-head.ts";

/** An attempt that ended. */
export type AttemptRecord = Delivery["attempts"][number];

/** A delivery with everything that an attempt needs; `url` null: its webhook is deleted or inactive. */
export interface ClaimedDelivery {
  readonly org_id: string;
  readonly delivery_id: string;
  readonly webhook_id: string;
  readonly event_type: string;
  readonly intent_id: string | null;
  readonly escalation_id: string | null;
  readonly body: string;
  readonly original_delivery_id: string | null;
  /** The number of the attempt that this claim permits; 4: the third one's lease ran out, only settling is left. */
  readonly number: number;
  readonly outcomes: readonly AttemptRecord[];
  readonly url: string | null;
  readonly secret_sealed: string | null;
}

/** Who is told. */
export interface ReceiverKey {
  readonly org_id: string;
  readonly webhook_id: string;
}

/** What a node has room for; nothing is leased beyond it. */
export interface Room {
  /** Attempts that may begin at all. */
  readonly free: number;
  /** Of those, so many are kept for organizations with at most `few` attempts in flight. */
  readonly reserve: number;
  readonly few: number;
  readonly per_organization: number;
  /** Attempts in flight at a receiver that is not listed. */
  readonly per_webhook: number;
  /** By `receiverKey`: attempts in flight, and at most so many. */
  readonly receivers: Readonly<Record<string, readonly [in_flight: number, share: number]>>;
  /** By organization: attempts in flight. */
  readonly organizations: Readonly<Record<string, number>>;
  /** By organization, and for `all`: bytes of large bodies in flight. Absent: none. */
  readonly large?: Readonly<Record<string, number>>;
  /** Longer than an attempt can take, with a margin. */
  readonly lease_ms: number;
}

/**
 * Bodies above this are large: they are in flight up to so many bytes of the node's and of one organization's, or one at a
 * time where one is larger. By number alone 192 escalations with a MiB of changes each ended the thread of deliveries.
 */
export const large_bytes = { over: 65_536, all: 67_108_864, organization: 16_777_216 } as const;

/** What a body counts for among the large ones. */
export function largeBytes({ body }: Pick<ClaimedDelivery, "body">): number {
  if (body.length * 3 <= large_bytes.over) return 0; // no character takes more than three bytes for each of its units
  const bytes = Buffer.byteLength(body);
  return bytes > large_bytes.over ? bytes : 0;
}

/** Names one receiver among all organizations. */
export function receiverKey({ org_id, webhook_id }: ReceiverKey): string {
  return `${org_id} ${webhook_id}`;
}

/** Parameters 1 to 8 of `claim` and `dispatch`. Maps, because every join with a list was a loop over it. */
export const roomParams = (room: Room) => [
  JSON.stringify(room.receivers),
  JSON.stringify(room.organizations),
  room.free,
  room.reserve,
  room.few,
  room.per_webhook,
  room.per_organization,
  room.lease_ms,
];

/** SQL: the attempts in flight of an organization. */
export const inFlightAt = (org_id: string) => `coalesce(($2::jsonb ->> ${org_id})::integer, 0)`;
/** SQL: round robin over organizations fills the places; the reserve is for organizations that have little in flight. */
export const placesFor = (org_id: string) =>
  `$3::integer - case when turn + ${inFlightAt(org_id)} <= $5::integer then 0 else $4::integer end`;
/** SQL: the attempts that may begin at a receiver. */
export const roomAt = ({ org_id, webhook_id }: ReceiverKey) =>
  `(coalesce(($1::jsonb -> (${org_id} || ' ' || ${webhook_id}) ->> 1)::integer, $6::integer)
    - coalesce(($1::jsonb -> (${org_id} || ' ' || ${webhook_id}) ->> 0)::integer, 0))`;

/** Whether a delivery fits, where `sum` is its bytes and those of the ones before it; one fits where none is in flight. */
const fitsLarge = (sum: string, of: string, max: number) =>
  `(large = 0 or ${sum} + coalesce(($9::jsonb ->> ${of})::bigint, 0) <= ${max}
    or (${sum} = large and coalesce(($9::jsonb ->> ${of})::bigint, 0) = 0))`;
const fitsOrganization = fitsLarge("of_organization", "org_id", large_bytes.organization);
const fitsNode = fitsLarge("of_all", "'all'", large_bytes.all);

/** One row of an answer; a row without `delivery_id` says something about the whole. */
export type DeliveryLine = Partial<ClaimedDelivery> & { readonly delivery_id: string | null };

const claimStatement: QueueStatement = {
  name: "deliveries-claim",
  text: `with recursive clock as materialized (select clock_timestamp() as at),
  walked as (
    (select org_id, webhook_id, due_at from deliveries where $10::json is null and status = 'pending'
     order by org_id, webhook_id, due_at limit 1)
    union all
    select n.org_id, n.webhook_id, n.due_at from walked w cross join lateral (
      select d.org_id, d.webhook_id, d.due_at from deliveries d
      where d.status = 'pending' and (d.org_id, d.webhook_id) > (w.org_id, w.webhook_id)
      order by d.org_id, d.webhook_id, d.due_at limit 1) n),
  receivers as (
    select org_id, webhook_id from walked where due_at <= (select at from clock)
    union all
    select org_id, webhook_id from json_to_recordset($10::json) as t(org_id text, webhook_id text)),
  due as (
    select d.*, row_number() over (partition by d.org_id order by d.rank, d.due_at) as turn
    from receivers r cross join lateral (
      select p.*, row_number() over (order by p.due_at) as rank
      from (select q.ctid as place_of, q.org_id, q.due_at, octet_length(q.body) as bytes from deliveries q
        where q.org_id = r.org_id and q.webhook_id = r.webhook_id and q.status = 'pending' and q.due_at <= (select at from clock)
        order by q.due_at limit greatest(least(${roomAt({ org_id: "r.org_id", webhook_id: "r.webhook_id" })}, $3::integer), 0)) p) d),
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
  claimed as (
    update deliveries d
    set attempts = least(d.attempts + 1, 3), due_at = clock_timestamp() + $8::integer * interval '1 millisecond'
    from locked l where d.ctid = l.ctid
    returning d.*, l.attempts + 1 as number)
  select c.org_id, c.delivery_id, c.webhook_id, c.event_type, c.intent_id, c.escalation_id, c.body, c.original_delivery_id,
    c.number, c.outcomes, w.url, w.secret_sealed, null::float8 as due_in_ms
  from claimed c left join lateral (
    select w.url, w.secret_sealed from webhooks w where w.org_id = c.org_id and w.webhook_id = c.webhook_id and w.active limit 1) w on true
  union all
  select org_id, null, webhook_id, null, null, null, null, null, null, null, null, null, null
  from walked where due_at <= (select at from clock)
  union all
  select null, null, null, null, null, null, null, null, (select count(*) from within) - (select count(*) from locked), null, null, null,
    (extract(epoch from min(due_at) - (select at from clock)) * 1000)::float8 from walked`,
};

/** What a claim came to. */
export interface Claimed {
  readonly deliveries: ClaimedDelivery[];
  /** After a walk: the receivers that had something due when it began. */
  readonly due: readonly ReceiverKey[];
  /** Until the earliest of all pending deliveries was due when the claim began; negative: overdue, null: nothing is pending. */
  readonly due_in_ms: number | null;
  /** Another node had some of what would have been claimed, or it was too large beside what is in flight: there may be more. */
  readonly passed_over: boolean;
}

/**
 * Leases due deliveries, each for one attempt that begins at once: of the given receivers, or of all (null). Round robin
 * over organizations, and never more of one receiver or organization than its share, however long its queue: the walk goes
 * from receiver to receiver along the index, so a backlog of one is not even looked at. `due_in_ms` is known after a walk only.
 */
export async function claimDue(
  db: Pick<Db, "queued">,
  terms: Room,
  receivers: readonly ReceiverKey[] | null = null,
): Promise<Claimed> {
  const targets = receivers === null ? null : JSON.stringify(receivers);
  const lines = await db.queued<DeliveryLine & { due_in_ms: number | null }>(claimStatement, [
    ...roomParams(terms),
    JSON.stringify(terms.large ?? {}),
    targets,
  ]);
  const deliveries = lines.filter((line) => line.delivery_id !== null) as unknown as ClaimedDelivery[];
  const others = lines.filter((line) => line.delivery_id === null);
  const due = others.filter((line) => line.webhook_id !== null) as unknown as ReceiverKey[];
  const about = others.find((line) => line.webhook_id === null);
  return { deliveries, due, due_in_ms: about?.due_in_ms ?? null, passed_over: Number(about?.number ?? 0) > 0 };
}

const goneStatement: QueueStatement = {
  name: "deliveries-gone",
  text: `select s.delivery_id from json_to_recordset($1::json) as s(org_id text, delivery_id text, number integer)
    left join lateral (
      select d.status, d.attempts from deliveries d where d.org_id = s.org_id and d.delivery_id = s.delivery_id limit 1) l on true
    where (l.status = 'pending' and l.attempts = least(s.number, 3)) is not true`,
};

/** The ids of those that are not theirs to send any more who leased them: their webhook is gone, or their lease was over. */
export async function readGone(
  db: Pick<Db, "queued">,
  leased: readonly ClaimedDelivery[],
): Promise<ReadonlySet<string>> {
  const known = leased.map(({ org_id, delivery_id, number }) => ({ org_id, delivery_id, number }));
  const lines = await db.queued<{ delivery_id: string }>(goneStatement, [JSON.stringify(known)]);
  return new Set(lines.map(({ delivery_id }) => delivery_id));
}

/** How a leased delivery goes on. */
export interface Settlement {
  readonly delivery_id: string;
  /** The attempts begun when it was leased; a newer claim makes this settlement void. */
  readonly attempts: number;
  readonly status: Delivery["status"];
  /** All ended attempts. */
  readonly outcomes: readonly AttemptRecord[];
  /** For `pending`: from now to the next attempt. */
  readonly wait_ms: number;
  /** Appended to the organization's audit trail together with it; null: nothing is. */
  readonly audit: AuditRow | null;
}

/**
 * The deliveries first, in the order of their ids, then the organization's head, as deleting a webhook does. A delivery that
 * was changed while the statement waited for it is at a place that the statement does not see: it is told, to be settled by
 * another. The commit does not wait for the disk:
 * a settlement that is lost with the database's machine is an attempt that nobody settled, and is made again; and the head
 * is held that much shorter, for which the organization's decisions wait.
 */
const settleStatement: QueueStatement = {
  name: "deliveries-settle",
  text: `with
  quick as materialized (select set_config('synchronous_commit', 'off', true) as synchronous_commit),
  input as materialized (
    select * from unnest($2::text[], $3::bigint[], $4::text[], $5::json[], $6::bigint[], $7::text[], $8::text[], $9::text[], $10::text[],
      $11::timestamptz[], $12::json[], $13::bytea[])
      with ordinality as s(delivery_id, attempts, status, outcomes, wait_ms, audit_id, intent_id, type, actor, at, data, hash, n)),
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
    from locked s where d.ctid = s.place
    returning s.*),
  chained as materialized (select s.*, row_number() over (order by s.n) as k from settled s where s.audit_id is not null),
  moved as (
    update org_heads h set audit_seq = h.audit_seq + c.added, audit_root = sha256(h.audit_root || c.hashes)
    from (select count(*) as added, string_agg(hash, ''::bytea order by k) as hashes from chained having count(*) > 0) c
    where ${isHead("$1")}
    returning h.audit_seq, h.audit_root, h.audit_seq - c.added as seq_before),
  put_audit as (
    insert into audit (org_id, seq, audit_id, intent_id, type, actor, at, data, hash)
    select $1, m.seq_before + c.k, c.audit_id, c.intent_id, c.type, c.actor, c.at, c.data, c.hash
    from chained c cross join moved m),
  put_root as (
    insert into audit_heads (org_id, last_seq, root) select $1, audit_seq, audit_root from moved)
  select l.delivery_id from quick left join locked l on l.delivery_id not in (select s.delivery_id from settled s)`,
};

/**
 * Settles leased deliveries of one organization, those that are still theirs to settle, each together with its audit row.
 * An event that a receiver took counts as delivered even when its webhook was deleted meanwhile.
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
      ofAudit("bytea", "hash"),
    ]);
    left = left.filter((settlement) => changed.some(({ delivery_id }) => delivery_id === settlement.delivery_id));
  }
}
