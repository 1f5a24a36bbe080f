/** From events to deliveries. Source: architecture.md §5. */
import { limits } from "@countersign/contract";
import type { Db, QueueStatement } from "../../ports.ts";
import {
  type ClaimedDelivery,
  type DeliveryLine,
  inFlightAt,
  large_bytes,
  placesFor,
  type ReceiverKey,
  type Room,
  roomAt,
  roomParams,
} from "./delivery-queue.ts";

/** Most events that one statement turns into deliveries; as many deliveries are enough for two events of 100 webhooks. */
export const events_per_statement = 200;
export const deliveries_per_statement = 256;
/** Of events as they are stored, so that few are unpacked to measure them; of deliveries as text. One at least of either. */
export const stored_bytes_per_statement = 2_097_152;
const bytes_per_statement = 33_554_432;

/**
 * An event goes when it is dispatched; the first one of a statement, where its deliveries are too large for it, when the last
 * part of them is made. Ids begin with their time, so the oldest are found along the primary key. Bodies are fetched where
 * they are written: carried through all steps, 16 events of 2 MB for 100 webhooks took longer than a statement may.
 *
 * Events that went leave entries in the indexes until they are vacuumed, and whoever begins at the beginning passes them all:
 * at the end of a burst of 20,000 that was two fifths of the time (measured). So the walk can go on where it stopped (`$12`),
 * and whether something older waits is only asked for receivers of which the node knows nothing. That place is a
 * column before it is compared: row-level security has no index asked for what `->>` or `coalesce` make of one.
 */
const dispatchStatement: QueueStatement = {
  name: "deliveries-dispatch",
  text: `with recursive clock as materialized (select clock_timestamp() as at),
  steps as (
    select '' as org_id
    union all
    select n.org_id from steps s
      cross join lateral (select min(k) as org_id from jsonb_object_keys($12::jsonb) k where k > s.org_id) p
      cross join lateral (select coalesce(
        (select e.org_id from events e where p.org_id is null and e.org_id > s.org_id order by e.org_id limit 1),
        (select e.org_id from events e where e.org_id > s.org_id and e.org_id < p.org_id order by e.org_id limit 1),
        p.org_id) as org_id) n
    where n.org_id is not null),
  walked as materialized (select org_id, coalesce($12::jsonb ->> org_id, '') as place from steps where org_id <> ''),
  share as materialized (select ceil($10::integer / greatest(count(*), 1)::numeric)::integer as events from walked),
  offered as materialized (
    select e.*, w.org_id <= $13::text as had_turn, w.org_id, row_number() over (partition by w.org_id order by e.event_id) as round
    from walked w cross join lateral (
      select o.ctid as place_of, o.event_id, pg_column_size(o.body) as stored from events o
      where o.org_id = w.org_id and o.event_id > w.place
      order by o.event_id limit (select events from share)) e),
  wanted as materialized (
    select place_of, round, had_turn, org_id, event_id, stored from offered order by round, had_turn, org_id, event_id
    limit greatest($10::integer, least((select count(*) from walked), ${events_per_statement}))),
  chosen as materialized (
    select c.* from (select w.*, sum(w.stored) over (order by w.round, w.had_turn, w.org_id, w.event_id) - w.stored as stored_before from wanted w) c
    where c.stored_before < ${stored_bytes_per_statement}),
  taken as materialized (
    select l.* from chosen c cross join lateral (
      select e.ctid, e.org_id, e.event_id, e.event_type, e.intent_id, e.escalation_id, octet_length(e.body::text) as bytes,
        e.recorded_seq, e.told_up_to, c.round, c.had_turn, c.place_of
      from events e where e.ctid = c.place_of limit 1 for update skip locked) l
    where l.ctid = l.place_of),
  matched as materialized (
    select t.*, w.webhook_id, w.url, w.secret_sealed,
      row_number() over (order by t.round, t.had_turn, t.org_id, t.event_id, w.webhook_id) as n,
      sum(t.bytes) over (order by t.round, t.had_turn, t.org_id, t.event_id, w.webhook_id) - t.bytes as bytes_before
    from taken t cross join lateral (
      select w.webhook_id, w.url, w.secret_sealed from webhooks w
      where w.org_id = t.org_id and w.active and w.event_types::jsonb ? t.event_type
        and (t.recorded_seq is null or w.registered_seq <= t.recorded_seq)
        and (t.told_up_to is null or w.webhook_id > t.told_up_to)
        and (w.escalation_id is null or (w.escalation_id = t.escalation_id and t.event_type like 'escalation.%'))
      limit ${limits.webhooks_per_organization_max}) w),
  fits as materialized (
    select m.*, m.n <= cardinality($9::text[]) and m.bytes_before < ${bytes_per_statement} as fits from matched m),
  later as materialized (select distinct f.ctid from fits f where not f.fits),
  part as materialized (select f.ctid from fits f where f.n = 1 and f.ctid in (select l.ctid from later l)),
  told as (
    delete from events where ctid = any (array(select t.ctid from taken t where t.ctid not in (select l.ctid from later l)))),
  fitting as materialized (
    select f.*, ($9::text[])[f.n] as delivery_id, row_number() over (partition by f.org_id, f.webhook_id order by f.n) as rank
    from fits f where f.fits and (f.ctid not in (select l.ctid from later l) or f.ctid in (select p.ctid from part p))),
  told_in_part as (
    update events e set told_up_to = (select max(f.webhook_id) from fitting f where f.ctid = e.ctid)
    where e.ctid = any (array(select p.ctid from part p))),
  rooms as materialized (
    select jsonb_object_agg(r.org_id || ' ' || r.webhook_id, case when $1::jsonb -> (r.org_id || ' ' || r.webhook_id) is null and (
      select true from deliveries d where d.org_id = r.org_id and d.webhook_id = r.webhook_id and d.status = 'pending'
        and d.due_at <= (select at from clock) limit 1) then 0 else ${roomAt({ org_id: "r.org_id", webhook_id: "r.webhook_id" })} end) as room
    from (select distinct f.org_id, f.webhook_id from fitting f) r),
  turns as (
    select f.*, f.bytes <= ${large_bytes.over} and f.rank <= ((select room from rooms) ->> (f.org_id || ' ' || f.webhook_id))::integer as has_room
    from fitting f),
  turned as (select t.*, row_number() over (partition by t.org_id, t.has_room order by t.rank, t.n) as turn from turns t),
  candidates as (select t.*, t.has_room and t.turn + ${inFlightAt("t.org_id")} <= $7::integer as eligible from turned t),
  placed as (select c.*, row_number() over (partition by c.eligible order by c.turn, c.n) as place from candidates c),
  made as materialized (
    select p.*, p.eligible and p.place <= ${placesFor("p.org_id")} as leased,
      (select left(e.body::text, -1) from events e where e.ctid = p.ctid) || ',"webhook_id":"' || p.webhook_id || '"}' as whole_body
    from placed p),
  added as (
    insert into deliveries (org_id, delivery_id, webhook_id, event_id, event_type, intent_id, escalation_id, body, status, attempts,
      outcomes, due_at, original_delivery_id, created_at)
    select m.org_id, m.delivery_id, m.webhook_id, m.event_id, m.event_type, m.intent_id, m.escalation_id, m.whole_body, 'pending',
      m.leased::integer, '[]', clock_timestamp() + case when m.leased then $8::integer else 0 end * interval '1 millisecond', null,
      $11::timestamptz
    from made m)
  select m.org_id, m.delivery_id, m.webhook_id, m.event_type, m.intent_id, m.escalation_id, m.whole_body as body,
    null as original_delivery_id, 1 as number, '[]'::json as outcomes, m.url, m.secret_sealed, null as last_event_id,
    null::boolean as events_left
  from made m where m.leased
  union all
  select r.org_id, null, r.webhook_id, null, null, null, null, null, null, null, null, null, null, null
  from (select distinct org_id, webhook_id from made where not leased) r
  union all
  select t.org_id, null, null, null, null, null, null, null, null, null, null, null,
    coalesce(max(t.event_id) filter (where t.ctid not in (select l.ctid from later l)), $12::jsonb ->> t.org_id, ''), null
  from taken t group by t.org_id having max(t.round) = (select events from share)
  union all
  select (select t.org_id from taken t
      where t.ctid not in (select l.ctid from later l) or t.ctid in (select p.ctid from part p)
      order by t.round desc, t.had_turn desc, t.org_id desc limit 1),
    null, null, null, null, null, null, null, null, null, null, null, null,
    exists(select 1 from later) or (exists(select 1 from taken) and (
      (select count(*) from wanted) = $10::integer or (select count(*) from chosen) < (select count(*) from wanted) or exists(select 1 from offered where round = (select events from share))))`,
};

/** What a dispatch came to. */
export interface Dispatched {
  /** Leased for their first attempt, which begins at once. */
  readonly leased: readonly ClaimedDelivery[];
  /** Receivers that got deliveries for which there is no room yet. */
  readonly waiting: readonly ReceiverKey[];
  /** There may be more events. */
  readonly events_left: boolean;
  /** By organization that may have more events: the last one that was dispatched. */
  readonly last: Readonly<Record<string, string>>;
  /** The organization that had the last turn, also where nobody hears of its event: the next statement begins after it. */
  readonly turn: string;
}

/** What is to be dispatched, and how. */
export interface DispatchTerms {
  /** Makes delivery ids. */
  readonly next_id: () => string;
  /** RFC 3339. */
  readonly created_at: string;
  /** Absent: as many as a statement may be for. */
  readonly events_max?: number;
  /** The last event of an organization that need not be looked for again, nor those before it. Absent: none. */
  readonly after?: Readonly<Record<string, string>>;
  /** The organizations after it come first. Absent: all in turn. */
  readonly turn_after?: string;
}

/** A line of the answer: a delivery, a receiver that waits, how far an organization has come, or (the last) what is left. */
export type DispatchLine = DeliveryLine & {
  readonly last_event_id: string | null;
  readonly events_left: boolean | null;
};

/**
 * Turns events that nobody was told of into one delivery for each webhook that is to hear of them (active, registered
 * before the event, watching what it is about), and leases as many of them as there is room for, unless others of the same
 * receiver have been waiting. Round robin over organizations, of each the oldest first: by age alone a burst of 10,000
 * events held up another organization's single one until its end (measured). An event is dispatched once, however many
 * nodes try. Two events of 100 webhooks fill a statement, so the organizations after `turn_after` come first: with the oldest
 * event first, 20 organizations' bursts held up another's single event for 15 s. Of a receiver that the room lists, the
 * caller knows whether others wait.
 */
export async function dispatchEvents(
  db: Pick<Db, "queued">,
  terms: Room,
  { next_id, created_at, events_max = events_per_statement, after = {}, turn_after = "" }: DispatchTerms,
): Promise<Dispatched> {
  const ids = Array.from({ length: deliveries_per_statement }, next_id);
  const params = [...roomParams(terms), ids, events_max, created_at, JSON.stringify(after), turn_after];
  return readDispatched(await db.queued<DispatchLine>(dispatchStatement, params), turn_after);
}

/** Reads an answer; `turn_before` is whose turn it stays where nobody had one. */
export function readDispatched(lines: readonly DispatchLine[], turn_before: string): Dispatched {
  const waiting: ReceiverKey[] = [];
  const leased: ClaimedDelivery[] = [];
  const last: Record<string, string> = {};
  let events_left = false;
  let turn = turn_before;
  for (const line of lines) {
    if (line.events_left !== null) {
      events_left = line.events_left;
      turn = line.org_id ?? turn_before;
    } else if (line.last_event_id !== null) last[line.org_id as string] = line.last_event_id;
    else if (line.delivery_id === null) waiting.push(line as ReceiverKey);
    else leased.push(line as unknown as ClaimedDelivery);
  }
  return { leased, waiting, events_left, last, turn };
}
