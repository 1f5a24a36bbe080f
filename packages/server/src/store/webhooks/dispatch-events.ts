/** SQL of the dispatcher: turns events into deliveries. */
import { limits } from "@countersign/contract";
import type { Db, QueueStatement } from "../../ports.ts";

/** Most events that one statement turns into deliveries. */
export const events_per_statement = 200;
/** Most deliveries that one statement makes: enough for two events of 100 webhooks. */
const deliveries_per_statement = 256;
/** Events are measured as they are stored, so that the statement decompresses few bodies. The first event always fits. */
const stored_bytes_per_statement = 2_097_152;
/** Deliveries are measured as text. The first delivery always fits. */
const bytes_per_statement = 33_554_432;

/**
 * Steps of the statement:
 *
 * 1. `steps`, `walked`: finds the organizations that have events, along the primary key.
 * 2. `offered` to `chosen`: takes the oldest events of each organization in turn, up to the bounds of one statement.
 * 3. `taken`: locks them and skips what another node has locked.
 * 4. `matched`: pairs each event with the webhooks that must receive it.
 * 5. `fits` to `fitting`: keeps what this statement has ids and bytes for. An event goes to the next statement if its
 *    deliveries do not all fit. Only the first event may be split; `told_up_to` then records how far it came.
 * 6. `told`, `told_in_part`, `added`: deletes the events and inserts the deliveries.
 *
 * The statement reads a body only where it writes it. Carrying bodies through all steps made 16 events of 2 MB for 100
 * webhooks exceed the time limit of a statement.
 */
const dispatchStatement: QueueStatement = {
  name: "deliveries-dispatch",
  text: `with recursive steps as (
    select '' as org_id
    union all
    select n.org_id from steps s
      cross join lateral (select e.org_id from events e where e.org_id > s.org_id order by e.org_id limit 1) n),
  walked as materialized (select org_id from steps where org_id <> ''),
  share as materialized (select ceil($2::integer / greatest(count(*), 1)::numeric)::integer as events from walked),
  offered as materialized (
    select e.*, w.org_id <= $4::text as had_turn, w.org_id, row_number() over (partition by w.org_id order by e.event_id) as round
    from walked w cross join lateral (
      select o.ctid as place_of, o.event_id, pg_column_size(o.body) as stored from events o
      where o.org_id = w.org_id order by o.event_id limit (select events from share)) e),
  wanted as materialized (
    select place_of, round, had_turn, org_id, event_id, stored from offered order by round, had_turn, org_id, event_id
    limit greatest($2::integer, least((select count(*) from walked), ${events_per_statement}))),
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
    select t.*, w.webhook_id,
      row_number() over (order by t.round, t.had_turn, t.org_id, t.event_id, w.webhook_id) as n,
      sum(t.bytes) over (order by t.round, t.had_turn, t.org_id, t.event_id, w.webhook_id) - t.bytes as bytes_before
    from taken t cross join lateral (
      select w.webhook_id from webhooks w
      where w.org_id = t.org_id and w.active and w.event_types::jsonb ? t.event_type
        and (t.recorded_seq is null or w.registered_seq <= t.recorded_seq)
        and (t.told_up_to is null or w.webhook_id > t.told_up_to)
        and (w.escalation_id is null or (w.escalation_id = t.escalation_id and t.event_type like 'escalation.%'))
      limit ${limits.webhooks_per_organization_max}) w),
  fits as materialized (
    select m.*, m.n <= cardinality($1::text[]) and m.bytes_before < ${bytes_per_statement} as fits from matched m),
  later as materialized (select distinct f.ctid from fits f where not f.fits),
  part as materialized (select f.ctid from fits f where f.n = 1 and f.ctid in (select l.ctid from later l)),
  told as (
    delete from events where ctid = any (array(select t.ctid from taken t where t.ctid not in (select l.ctid from later l)))),
  fitting as materialized (
    select f.*, ($1::text[])[f.n] as delivery_id
    from fits f where f.fits and (f.ctid not in (select l.ctid from later l) or f.ctid in (select p.ctid from part p))),
  told_in_part as (
    update events e set told_up_to = (select max(f.webhook_id) from fitting f where f.ctid = e.ctid)
    where e.ctid = any (array(select p.ctid from part p))),
  made as materialized (
    select f.*, (select left(e.body::text, -1) from events e where e.ctid = f.ctid) || ',"webhook_id":"' || f.webhook_id || '"}' as whole_body
    from fitting f),
  added as (
    insert into deliveries (org_id, delivery_id, webhook_id, event_id, event_type, intent_id, escalation_id, body, status, attempts,
      outcomes, due_at, original_delivery_id, created_at)
    select m.org_id, m.delivery_id, m.webhook_id, m.event_id, m.event_type, m.intent_id, m.escalation_id, m.whole_body, 'pending', 0,
      '[]', clock_timestamp(), null, $3::timestamptz
    from made m)
  select (select count(*)::integer from made) as made,
    (select t.org_id from taken t
      where t.ctid not in (select l.ctid from later l) or t.ctid in (select p.ctid from part p)
      order by t.round desc, t.had_turn desc, t.org_id desc limit 1) as turn,
    exists(select 1 from later) or (exists(select 1 from taken) and (
      (select count(*) from wanted) = $2::integer or (select count(*) from chosen) < (select count(*) from wanted)
      or exists(select 1 from offered where round = (select events from share)))) as events_left`,
};

/** The result of one dispatch. */
export interface Dispatched {
  /** Deliveries made; all are due now. */
  readonly made: number;
  /** There may be more events. */
  readonly events_left: boolean;
  /** The organization that had the last turn, even if no webhook receives its event. The next statement begins after it. */
  readonly turn: string;
}

/** The input of one dispatch. */
export interface DispatchTerms {
  /** Makes delivery ids. */
  readonly next_id: () => string;
  /** RFC 3339. */
  readonly created_at: string;
  /** Most events of this statement; absent: `events_per_statement`. Every organization has a turn, even if there are more. */
  readonly events_max?: number;
  /** The organizations after this one come first; absent: in the order of their ids. */
  readonly turn_after?: string;
}

/**
 * Turns events into one delivery for each webhook that must receive them: active, registered before the event, watching
 * its type and its escalation. Deletes those events. A statement dispatches an event once, even if several nodes run it.
 *
 * Organizations take turns, and of each the oldest event goes first. Dispatching by age alone made a single event of
 * another organization wait for the end of a backlog of 10,000 (measured). Two events of 100 webhooks fill a statement, so
 * `turn_after` continues the turns. Without it, backlogs of 20 organizations delayed another one's single event by 15 s.
 */
export async function dispatchEvents(
  db: Pick<Db, "queued">,
  { next_id, created_at, events_max = events_per_statement, turn_after = "" }: DispatchTerms,
): Promise<Dispatched> {
  const ids = Array.from({ length: deliveries_per_statement }, next_id);
  const params = [ids, events_max, created_at, turn_after];
  const [line] = await db.queued<Omit<Dispatched, "turn"> & { turn: string | null }>(dispatchStatement, params);
  if (line === undefined) throw new Error("a dispatch answers with one line");
  return { ...line, turn: line.turn ?? turn_after };
}
