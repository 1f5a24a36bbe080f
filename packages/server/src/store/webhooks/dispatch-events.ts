import { limits } from "@countersign/contract";
import type { Db, Query, QueueStatement } from "../../ports.ts";

export const events_per_statement = 200;
/** Maximum deliveries of a statement: enough for two events of 100 webhooks. */
const deliveries_per_statement = 256;
/** Ids for each event if there are few events, because making and sending 256 ids takes 0.2 ms. */
const ids_per_event = 8;
/** Limit of events in stored bytes, so that few bodies are decompressed. The first event always fits. */
const stored_bytes_per_statement = 2_097_152;
/** Limit of deliveries in bytes of text. The first one always fits. */
const bytes_per_statement = 33_554_432;

/** Returns organizations with events. System scope. */
export async function organizationsWithEvents(query: Query): Promise<readonly string[]> {
  const found = await query<{ org_id: string }>(
    "select o.org_id from organizations o where exists (select 1 from events e where e.org_id = o.org_id)",
  );
  return found.map(({ org_id }) => org_id);
}

/**
 * Steps of the statement:
 *
 * 1. `oldest`, `chosen`: the oldest events, up to the limits.
 * 2. `taken`: locks them and skips what another node has locked.
 * 3. `listening`, `about`, `matched`: pairs events with their webhooks, and numbers the pairs. Reads mode and membrane of an
 * event only if a webhook filters by them.
 * 4. `cut`: the first event whose deliveries do not all fit. It and later events wait for the next statement.
 * 5. `made`: the pairs before the cut. If the first event is cut, those of its pairs that fit; `told_up_to` records
 * them.
 * 6. `done`, `deleted`, `told_in_part`, `added`: deletes events and inserts deliveries.
 *
 * A body is read only where it is written. With bodies in all steps, 16 events of 2 MB for 100 webhooks exceeded the
 * statement timeout. Each step names the last event, so no plan reads later ones.
 *
 * The commit does not wait for the disk. The later lease does, and with it all earlier commits. If the database's
 * machine fails before, the events still exist.
 */
const dispatchStatement: QueueStatement = {
  name: "deliveries-dispatch",
  text: `with
  quick as materialized (select set_config('synchronous_commit', 'off', true) as synchronous_commit),
  oldest as materialized (
    select event_id, pg_column_size(body) as stored from events where org_id = $1 order by event_id limit $3::integer),
  chosen as materialized (
    select event_id from (select event_id, sum(stored) over (order by event_id) - stored as stored_before from oldest) o
    where stored_before < ${stored_bytes_per_statement}),
  taken as materialized (
    select event_id, event_type, intent_id, escalation_id, membrane_id, recorded_seq, told_up_to, octet_length(body::text) as bytes
    from events where org_id = $1 and event_id <= (select max(event_id) from chosen) for update skip locked),
  listening as materialized (
    select webhook_id, event_types::jsonb as event_types, registered_seq, escalation_id, modes, membrane_ids
    from webhooks where org_id = $1 and active limit ${limits.webhooks_per_organization_max}),
  about as materialized (
    select t.event_id, l.mode, l.membrane_id from taken t cross join lateral (
      select d.mode, d.membrane_id from ledger d
      where d.org_id = $1 and d.type = 'decided' and d.intent_id = t.intent_id limit 1) l
    where exists (select 1 from listening where modes is not null or membrane_ids is not null)
    union all
    select event_id, 'live', membrane_id from taken where membrane_id is not null),
  matched as materialized (
    select t.event_id, t.event_type, t.intent_id, t.escalation_id, w.webhook_id,
      row_number() over numbered <= cardinality($2::text[]) and sum(t.bytes) over numbered - t.bytes < ${bytes_per_statement} as fits,
      row_number() over numbered as n, first_value(t.event_id) over numbered as first_event_id
    from taken t join listening w on w.event_types ? t.event_type
      and (t.recorded_seq is null or w.registered_seq <= t.recorded_seq)
      and (t.told_up_to is null or w.webhook_id > t.told_up_to)
      and (w.escalation_id is null or (w.escalation_id = t.escalation_id and t.event_type like 'escalation.%'))
      and not exists (select 1 from about a where a.event_id = t.event_id
        and (a.mode <> all (w.modes) or a.membrane_id <> all (w.membrane_ids)))
    window numbered as (order by t.event_id, w.webhook_id)),
  cut as materialized (select min(event_id) as event_id from matched where not fits),
  made as materialized (
    select m.*, ($2::text[])[m.n] as delivery_id from matched m, cut c
    where m.fits and (c.event_id is null or m.event_id < c.event_id or m.event_id = m.first_event_id)),
  done as materialized (select t.event_id from taken t, cut c where c.event_id is null or t.event_id < c.event_id),
  deleted as (
    delete from events where org_id = $1 and event_id <= (select max(event_id) from done)
      and event_id = any (array(select event_id from done))),
  told_in_part as (
    update events e set told_up_to = p.webhook_id
    from (select max(m.webhook_id) as webhook_id from made m, cut c where m.event_id = c.event_id) p
    where e.org_id = $1 and e.event_id = (select event_id from cut) and p.webhook_id is not null),
  added as (
    insert into deliveries (org_id, delivery_id, webhook_id, event_id, event_type, intent_id, escalation_id, body, status, attempts,
      outcomes, due_at, original_delivery_id, created_at)
    select $1, m.delivery_id, m.webhook_id, m.event_id, m.event_type, m.intent_id, m.escalation_id,
      (select left(e.body::text, -1) from events e where e.org_id = $1 and e.event_id = m.event_id)
        || ',"webhook_id":"' || m.webhook_id || '"}',
      'pending', 0, '[]', clock_timestamp(), null, $4::timestamptz
    from made m)
  select (select count(*)::integer from made) as made,
    (select event_id from cut) is not null or (exists(select 1 from taken) and (
      (select count(*) from oldest) = $3::integer or (select count(*) from chosen) < (select count(*) from oldest))) as events_left
  from quick`,
};

export interface Dispatched {
  readonly made: number;
  readonly events_left: boolean;
}

export interface DispatchTerms {
  readonly next_id: () => string;
  /** RFC 3339. */
  readonly created_at: string;
  /** Default: `events_per_statement`. */
  readonly events_max?: number;
}

/**
 * Turns the oldest events into one delivery for each active webhook that was registered before and watches type and
 * escalation. Concurrent nodes never dispatch an event twice.
 */
export async function dispatchEvents(
  db: Pick<Db, "queued">,
  org_id: string,
  { next_id, created_at, events_max = events_per_statement }: DispatchTerms,
): Promise<Dispatched> {
  const length = Math.min(deliveries_per_statement, events_max * ids_per_event);
  const ids = Array.from({ length }, next_id);
  const [line] = await db.queued<Dispatched>(dispatchStatement, [org_id, ids, events_max, created_at]);
  if (line === undefined) throw new Error("the dispatch returned no row");
  return line;
}
