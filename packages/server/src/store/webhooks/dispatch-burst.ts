/**
 * The rest of a burst: one organization's events, of which the same webhooks hear all. The statement for everything
 * (`dispatch-events.ts`) carries rows from step to step, to share places between organizations and receivers; where there is
 * nothing to share that was half of its time (decision 0020). This one finds out by itself whether the burst is still alike,
 * and otherwise changes nothing. Source: architecture.md §5.
 */
import type { Db, QueueStatement } from "../../ports.ts";
import { large_bytes, type Room, receiverKey } from "./delivery-queue.ts";
import {
  type Dispatched,
  type DispatchLine,
  type DispatchTerms,
  deliveries_per_statement,
  dispatchEvents,
  events_per_statement,
  readDispatched,
  stored_bytes_per_statement,
} from "./dispatch-events.ts";

/** Whose events are left, and who heard of those before them. */
export interface Burst {
  readonly org_id: string;
  /** In order. */
  readonly webhook_ids: readonly string[];
}

/** The burst that a dispatch was a part of; null: several organizations, or others than those it leased for are to hear as well. */
export function burstOf({ leased, waiting, events_left, last }: Dispatched): Burst | null {
  const [org_id, ...others] = Object.keys(last);
  if (!events_left || org_id === undefined || others.length > 0 || leased.length === 0 || waiting.length > 0)
    return null;
  if (leased.some((each) => each.org_id !== org_id)) return null;
  return { org_id, webhook_ids: [...new Set(leased.map(({ webhook_id }) => webhook_id))].sort() };
}

/** Of so many of a burst's events every delivery can be leased. */
function roomForEvents({ org_id, webhook_ids }: Burst, room: Room): number {
  const ofReceiver = (webhook_id: string) => {
    const [in_flight, share] = room.receivers[receiverKey({ org_id, webhook_id })] ?? [0, 0];
    return share - in_flight;
  };
  const together = Math.min(room.free - room.reserve, room.per_organization - (room.organizations[org_id] ?? 0));
  return Math.max(0, Math.min(Math.floor(together / webhook_ids.length), ...webhook_ids.map(ofReceiver)));
}

/**
 * Alike: nobody else has events, and each webhook that hears of one of these (active, registered before it, watching what it
 * is about) hears of all, and is one of the burst's. `$4`: one id for each event and webhook. Bodies are unpacked to measure
 * them only where the statement for everything would: to find that 144 of 2 MB are too large took half a second.
 */
const burstStatement: QueueStatement = {
  name: "deliveries-dispatch-burst",
  text: `with
  offered as materialized (
    select s.place_of, s.event_type, s.recorded_seq, s.told_up_to,
      case when s.stored <= ${stored_bytes_per_statement} then octet_length(s.body::text) end as bytes from (
      select n.*, sum(pg_column_size(n.body)) over () as stored from (
        select o.ctid as place_of, o.event_type, o.recorded_seq, o.told_up_to, o.body from events o
        where o.org_id = $1 and o.event_id > $2 order by o.event_id limit $5::integer) n) s),
  types as materialized (select array_agg(distinct event_type) as names, min(recorded_seq) as since from offered),
  hearing as materialized (
    select w.webhook_id, w.url, w.secret_sealed, w.escalation_id is null and w.event_types::jsonb ?& t.names
        and (t.since is null or w.registered_seq <= t.since) as all_of_it
    from types t cross join webhooks w where w.org_id = $1 and w.active and w.event_types::jsonb ?| t.names),
  alike as materialized (
    select (select bool_and(h.all_of_it) and array_agg(h.webhook_id order by h.webhook_id collate "C") = $3::text[] from hearing h)
      and not exists (select from offered where told_up_to is not null or bytes is null or bytes > ${large_bytes.over})
      and not exists (select from events where org_id < $1) and not exists (select from events where org_id > $1) as so),
  taken as materialized (
    select l.*, row_number() over () as n from (select place_of from offered where (select so from alike)) o cross join lateral (
      select e.ctid, e.event_id, e.event_type, e.intent_id, e.escalation_id, e.body from events e
      where e.ctid = o.place_of limit 1 for update skip locked) l
    where l.ctid = o.place_of),
  told as (delete from events where ctid = any (array(select ctid from taken))),
  made as materialized (
    select t.event_id, t.event_type, t.intent_id, t.escalation_id, h.webhook_id, h.url, h.secret_sealed,
      ($4::text[])[(t.n - 1) * cardinality($3::text[]) + array_position($3::text[], h.webhook_id)] as delivery_id,
      left(t.body::text, -1) || ',"webhook_id":"' || h.webhook_id || '"}' as whole_body
    from taken t cross join hearing h),
  added as (
    insert into deliveries (org_id, delivery_id, webhook_id, event_id, event_type, intent_id, escalation_id, body, status, attempts,
      outcomes, due_at, original_delivery_id, created_at)
    select $1, m.delivery_id, m.webhook_id, m.event_id, m.event_type, m.intent_id, m.escalation_id, m.whole_body, 'pending',
      1, '[]', clock_timestamp() + $6::integer * interval '1 millisecond', null, $7::timestamptz
    from made m)
  select $1 as org_id, m.delivery_id, m.webhook_id, m.event_type, m.intent_id, m.escalation_id, m.whole_body as body,
    null as original_delivery_id, 1 as number, '[]'::json as outcomes, m.url, m.secret_sealed, null as last_event_id,
    null::boolean as events_left
  from made m
  union all
  select $1, null, null, null, null, null, null, null, null, null, null, null, max(event_id), null from taken having count(*) > 0
  union all
  select $1, null, null, null, null, null, null, null, null, null, null, null, null,
    exists (select from taken) and (select count(*) from offered) = $5::integer
  where (select so from alike)`,
};

/** How many of the burst's events the next statement may be for; 0: there is no room for that, or nobody knows where to go on. */
function eventsOf(burst: Burst, room: Room, { events_max = events_per_statement, after = {} }: DispatchTerms): number {
  const events = Math.min(events_max, Math.floor(deliveries_per_statement / burst.webhook_ids.length));
  return after[burst.org_id] === undefined || roomForEvents(burst, room) < events ? 0 : events;
}

/**
 * Turns the next of the burst's events into deliveries, and leases all of them. Null: there is no room for that, or what is
 * left is not alike (any more), and nothing was changed.
 */
export async function dispatchBurst(
  db: Pick<Db, "queued">,
  room: Room,
  terms: DispatchTerms,
  burst: Burst,
): Promise<Dispatched | null> {
  const { org_id, webhook_ids } = burst;
  const events = eventsOf(burst, room, terms);
  if (events === 0) return null;
  const ids = Array.from({ length: events * webhook_ids.length }, terms.next_id);
  const params = [org_id, terms.after?.[org_id], webhook_ids, ids, events, room.lease_ms, terms.created_at];
  const lines = await db.queued<DispatchLine>(burstStatement, params);
  return lines.length === 0 ? null : readDispatched(lines, org_id);
}

/** What one dispatch leaves to the next. */
export interface BurstSoFar {
  readonly burst: Burst | null;
  /** So many times in a row what was taken for a burst was not alike. */
  readonly unlike: number;
  /** For so many dispatches nothing is taken for a burst. */
  readonly rest: number;
}

/** Before the first dispatch, and after one that failed. */
export const no_burst: BurstSoFar = { burst: null, unlike: 0, rest: 0 };

/** Most dispatches between two that take for a burst what was none so far. */
const rest_max = 31;

/**
 * `dispatchEvents`, by the way for a burst where there is one and it can be taken. Where webhooks hear of some events and not
 * of others that is never so, and asking each time made a dispatch a fifth longer: so it is asked less and less, until the
 * events end. A single event of another organization costs one question.
 */
export async function dispatchNext(
  db: Pick<Db, "queued">,
  room: Room,
  terms: DispatchTerms,
  { burst, unlike, rest }: BurstSoFar,
): Promise<{ readonly dispatched: Dispatched; readonly so_far: BurstSoFar }> {
  const asked = burst !== null && rest === 0 && eventsOf(burst, room, terms) > 0;
  const alike = asked ? await dispatchBurst(db, room, terms, burst) : null;
  if (alike !== null) return { dispatched: alike, so_far: { ...no_burst, burst: burstOf(alike) } };
  const dispatched = await dispatchEvents(db, room, terms);
  if (!dispatched.events_left) return { dispatched, so_far: no_burst };
  const so_far = asked
    ? { unlike: unlike + 1, rest: Math.min(2 ** unlike - 1, rest_max) }
    : { unlike, rest: Math.max(rest - 1, 0) };
  return { dispatched, so_far: { ...so_far, burst: burstOf(dispatched) } };
}
