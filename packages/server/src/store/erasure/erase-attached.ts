/** SQL that erases what other tables say about intents. Every change holds the lock of the organization's head. */
import type { Decision, Escalation } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { erased_answer } from "../rows/idempotency.ts";

export interface ReviewToErase {
  readonly escalation_id: string;
  readonly record: Escalation;
  readonly resolution: Partial<Decision> | null;
}

export function readReviewsOf(
  query: Query,
  org_id: string,
  escalation_ids: readonly string[],
): Promise<ReviewToErase[]> {
  return query<ReviewToErase>(
    "select escalation_id, record, resolution from escalations where org_id = $1 and escalation_id = any ($2::text[])",
    [org_id, escalation_ids],
  );
}

/** Also asks for an update of the messages in chats. */
export async function writeErasedReviews(
  query: Query,
  org_id: string,
  reviews: readonly ReviewToErase[],
): Promise<void> {
  if (reviews.length === 0) return;
  await query(
    `update escalations e set record = r.record, resolution = r.resolution, ruling = null, fingerprint = null
     from (select escalation_id, record, resolution from json_to_recordset($2::json)
       as c(escalation_id text, record json, resolution json) offset 0) r
     where e.org_id = $1 and e.escalation_id = r.escalation_id`,
    [org_id, JSON.stringify(reviews)],
  );
  await query(
    `update review_cards set changes = changes + 1, attempts = 0, due_at = coalesce(due_at, now())
     where org_id = $1 and escalation_id = any ($2::text[])`,
    [org_id, reviews.map(({ escalation_id }) => escalation_id)],
  );
}

export interface StillActive {
  readonly id: string;
  readonly intent_id: string;
}

/** Revokes the active overrides, erases all reasons and hashes of the action. Returns the number of overrides and the revoked ones. */
export async function eraseOverrides(
  query: Query,
  org_id: string,
  intent_ids: readonly string[],
): Promise<{ readonly count: number; readonly revoked: readonly StillActive[] }> {
  const revoked = await query<StillActive>(
    `update overrides set status = 'revoked' where org_id = $1 and intent_id = any ($2::text[]) and status in ('active', 'pending_second')
     returning override_id as id, intent_id`,
    [org_id, intent_ids],
  );
  const erased = await query(
    `update overrides set reason = '', fingerprint = '' where org_id = $1 and intent_id = any ($2::text[]) returning true as erased`,
    [org_id, intent_ids],
  );
  return { count: erased.length, revoked };
}

/** SQL: a grant of one of these intents, or one that names the text in JSON and no hold keeps. Null: no text. */
const grants_about = `(intent_id = any ($2::text[]) or strpos(scope::text || to_json(reason)::text, $3) > 0 and not exists (
  select from legal_holds h join ledger l on l.org_id = $1 and l.intent_id = grants.intent_id and l.type = 'decided'
  where h.org_id = $1 and ledger_about(l, h.kind, h.subject)))`;

/** Revokes the active grants, erases all scopes and reasons. `naming`: also grants with this text, as it is inside of JSON. */
export async function eraseGrants(
  query: Query,
  org_id: string,
  intent_ids: readonly string[],
  naming: string | null,
): Promise<{ readonly count: number; readonly revoked: readonly StillActive[] }> {
  const revoked = await query<StillActive>(
    `update grants set revoked_at = now(), revoked_by = 'system' where org_id = $1 and ${grants_about} and revoked_at is null
     returning grant_id as id, intent_id`,
    [org_id, intent_ids, naming],
  );
  const erased = await query(
    `update grants set reason = '', scope = json_build_object('agent_id', scope -> 'agent_id', 'verb', scope -> 'verb')
     where org_id = $1 and ${grants_about} returning true as erased`,
    [org_id, intent_ids, naming],
  );
  return { count: erased.length, revoked };
}

/** Replaces stored answers that name one of these texts. A repetition of such a request gets 410. */
export async function eraseAnswers(query: Query, org_id: string, texts: readonly string[]): Promise<number> {
  const erased = await query(
    `update idempotency_keys set response = '${erased_answer}' where org_id = $1 and response is not null
       and exists (select from unnest($2::text[]) as t(named) where strpos(response::text, t.named) > 0) returning true as erased`,
    [org_id, texts],
  );
  return erased.length;
}

/** Deletes kept backtests that name one of these texts, because their rows and messages repeat the actions. */
export async function eraseBacktests(query: Query, org_id: string, texts: readonly string[]): Promise<number> {
  const deleted = await query(
    `delete from backtests where org_id = $1 and exists (select from unnest($2::text[]) as t(named)
       where strpos(summary::text || input::text || result::text, t.named) > 0) returning true as deleted`,
    [org_id, texts],
  );
  return deleted.length;
}

/** Erases the text of the keys that contain one of the texts, or that only these intents count in. The counters go on by their hash. */
export async function eraseCounterKeys(
  query: Query,
  org_id: string,
  intent_ids: readonly string[],
  naming: readonly string[],
): Promise<number> {
  const erased = await query(
    `update counters c set key = '["[erased]"]', requested = null where c.org_id = $1 and c.key <> '["[erased]"]' and (
       exists (select from unnest($3::text[]) as t(named) where strpos(c.key, t.named) > 0)
       or (c.mode, c.name, c.key_sha) in (select e.mode, e.name, e.key_sha from counter_entries e
           where e.org_id = $1 and e.intent_id = any ($2::text[]))
         and not exists (select from counter_entries o where o.org_id = $1 and o.mode = c.mode and o.name = c.name and o.key_sha = c.key_sha
           and o.intent_id <> all ($2::text[]))) returning true as erased`,
    [org_id, intent_ids, naming],
  );
  return erased.length;
}

/** Events that no webhook has yet: those of reviews have the record, which is replaced. Others have ids only. */
export async function eraseEvents(query: Query, org_id: string, reviews: readonly ReviewToErase[]): Promise<void> {
  if (reviews.length === 0) return;
  await query(
    `update events e set body = (e.body::jsonb || jsonb_build_object('data', r.record))::json
     from (select escalation_id, record from json_to_recordset($2::json) as c(escalation_id text, record jsonb) offset 0) r
     where e.org_id = $1 and e.escalation_id = r.escalation_id`,
    [org_id, JSON.stringify(reviews)],
  );
}

export interface ErasedPage {
  readonly erased: number;
  /** The last delivery that the page read; null: none is left. */
  readonly last: string | null;
}

/** Reads a page of deliveries after `after`, removes the bodies of erased intents, and cancels those that are pending. */
export async function eraseDeliveries(query: Query, org_id: string, after: string, rows: number): Promise<ErasedPage> {
  const [page] = await query<ErasedPage>(
    `with page as materialized (
       select d.delivery_id, d.intent_id, d.body <> '' as whole from deliveries d where d.org_id = $1 and d.delivery_id > $2
       order by d.delivery_id limit $3::integer),
     locked as materialized (
       select d.delivery_id from deliveries d where d.org_id = $1 and d.delivery_id = any (array(
         select p.delivery_id from page p join ledger l on l.org_id = $1 and l.intent_id = p.intent_id and l.type = 'decided'
         where p.whole and l.leaf is not null)) order by d.delivery_id for update),
     erased as (
       update deliveries d set body = '', status = case when d.status = 'pending' then 'cancelled' else d.status end,
         settled_at = case when d.status = 'pending' then now() else d.settled_at end
       where d.org_id = $1 and d.delivery_id = any (array(select delivery_id from locked)) returning true as erased)
     select (select count(*)::integer from erased) as erased, (select max(delivery_id) from page) as last`,
    [org_id, after, rows],
  );
  if (page === undefined) throw new Error("an aggregate returned no row");
  return page;
}

/** SQL: a hold on everything, or on the agent or target, keeps the stored facts `c`. */
export const facts_held = `exists (select from legal_holds h where h.org_id = $1 and (h.kind = 'all'
  or h.kind = c.scope and case when starts_with(c.subject, '[') then c.subject::json ->> 1 else c.subject end = h.subject
  or h.kind = 'value' and strpos(c.subject || c.document::text, json_inside(h.subject)) > 0))`;

/** SQL: the stored facts `c` are about a subject. The kind is `$2`. */
export const facts_about = `c.org_id = $1 and not ${facts_held} and case $2
  when 'agent' then c.scope = 'agent' and lower(c.subject) = lower($3)
  when 'target' then c.scope = 'target' and case when starts_with(c.subject, '[') then lower(c.subject::json ->> 1) = lower($3) else false end
  when 'value' then c.scope <> 'org' and strpos(c.subject || c.document::text, json_inside($3)) > 0
  else false end`;

/** Deletes stored facts about a subject. A target of more than 1 KiB is stored as a hash and is not found. */
export async function eraseFacts(query: Query, org_id: string, kind: string, subject: string): Promise<number> {
  const deleted = await query(`delete from stored_context c where ${facts_about} returning true as deleted`, [
    org_id,
    kind,
    subject,
  ]);
  return deleted.length;
}

/** Deletes addresses of removed people, and empties intakes, that contain the text. */
export async function eraseAddresses(query: Query, org_id: string, subject: string): Promise<number> {
  const deleted = await query(
    "delete from removed_addresses where org_id = $1 and strpos(lower(email), lower($2)) > 0 returning true as deleted",
    [org_id, subject],
  );
  const emptied = await query(
    `update onboarding_intakes set request = '{}', response = '{}' where org_id = $1
       and strpos(request::text || response::text, json_inside($2)) > 0 returning true as erased`,
    [org_id, subject],
  );
  return deleted.length + emptied.length;
}
