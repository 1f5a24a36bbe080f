/** SQL for how long an organization keeps what (decision 0065). Ages are by the database's clock. */
import type { Retention, RetentionAnswer } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { firstIdAt } from "../rows/first-id-at.ts";
import { facts_held } from "./erase-attached.ts";

export interface RetentionRow extends Retention {
  readonly org_id: string;
  /** Intents up to here are erased or on hold. */
  readonly content_to: string;
}

const days = "content_days, failed_deliveries_days, facts_days";

export async function readRetention(query: Query, org_id: string): Promise<Retention> {
  const [row] = await query<Retention>(`select ${days} from retention where org_id = $1`, [org_id]);
  return row ?? { content_days: null, failed_deliveries_days: null, facts_days: null };
}

/** Starts again with the oldest decision. */
export async function writeRetention(query: Query, org_id: string, retention: Retention): Promise<void> {
  const { content_days, failed_deliveries_days, facts_days } = retention;
  await query(
    `insert into retention (org_id, ${days}) values ($1, $2::integer, $3::integer, $4::integer)
     on conflict (org_id) do update set content_days = excluded.content_days, content_to = '',
       failed_deliveries_days = excluded.failed_deliveries_days, facts_days = excluded.facts_days`,
    [org_id, content_days, failed_deliveries_days, facts_days],
  );
}

/** After the end of a hold, what it kept is looked at again. */
export async function restartRetention(query: Query, org_id: string): Promise<void> {
  await query("update retention set content_to = '' where org_id = $1", [org_id]);
}

/** System scope. */
export function listRetention(query: Query, after: string, limit: number): Promise<RetentionRow[]> {
  return query<RetentionRow>(
    `select org_id, content_to, ${days} from retention
     where org_id > $1 and num_nonnulls(content_days, failed_deliveries_days, facts_days) > 0 order by org_id limit $2::integer`,
    [after, limit],
  );
}

/** Maximum error of an id's clock. */
const clocks_differ_ms = 24 * 3_600 * 1_000;
const day_ms = 86_400_000;

const idBefore = (kind: "intent" | "delivery", now_ms: number, kept_days: number) =>
  firstIdAt(kind, Math.max(0, now_ms - kept_days * day_ms + clocks_differ_ms));

export interface OldPage {
  /** Final decisions with their documents that are older than their time. */
  readonly intent_ids: readonly string[];
  /** The last decision that the page read; null: none is left. */
  readonly last: string | null;
}

/** Reads a page of decisions after `after`. Ends before an open review, because it is looked at again later. */
export async function readOldDecisions(
  query: Query,
  org_id: string,
  { after, kept_days, now_ms, rows }: { after: string; kept_days: number; now_ms: number; rows: number },
): Promise<OldPage> {
  const [page] = await query<OldPage>(
    `with page as materialized (
       select l.intent_id, l.leaf, l.at < now() - make_interval(days => $4::integer) as is_old,
         exists (select from escalations e where e.org_id = $1 and e.escalation_id = l.escalation_id and e.status = 'pending') as is_open
       from ledger l where l.org_id = $1 and l.type = 'decided' and l.intent_id > $2 and l.intent_id < $3
       order by l.intent_id limit $5::integer),
     ended as materialized (
       select * from page where intent_id < coalesce((select min(intent_id) from page where is_open or not is_old), 'z'))
     select coalesce((select array_agg(intent_id order by intent_id) from ended where leaf is null), '{}') as intent_ids,
       (select max(intent_id) from ended) as last`,
    [org_id, after, idBefore("intent", now_ms, kept_days), kept_days, rows],
  );
  if (page === undefined) throw new Error("an aggregate returned no row");
  return page;
}

export async function writeContentTo(query: Query, org_id: string, content_to: string): Promise<void> {
  await query("update retention set content_to = $2 where org_id = $1", [org_id, content_to]);
}

/** SQL: a hold keeps the intent of the delivery `d`. */
const intent_held = `exists (select from legal_holds h join ledger l on l.org_id = $1 and l.intent_id = d.intent_id and l.type = 'decided'
  where h.org_id = $1 and ledger_about(l, h.kind, h.subject))`;

const old_failed = `d.org_id = $1 and d.status = 'failed' and d.body <> '' and d.delivery_id < $2
  and d.settled_at < now() - make_interval(days => $3::integer)`;
const old_facts = "c.org_id = $1 and c.scope <> 'org' and c.received_at < now() - make_interval(days => $2::integer)";

/** Removes up to `rows` bodies of old failed deliveries. Returns the number. */
export async function eraseOldFailed(
  query: Query,
  org_id: string,
  { kept_days, now_ms, rows }: { kept_days: number; now_ms: number; rows: number },
): Promise<number> {
  const erased = await query(
    `update deliveries d set body = '' where d.org_id = $1 and d.delivery_id = any (array(
       select d.delivery_id from deliveries d where ${old_failed} and not ${intent_held}
       order by d.delivery_id limit $4::integer for update)) returning true as erased`,
    [org_id, idBefore("delivery", now_ms, kept_days), kept_days, rows],
  );
  return erased.length;
}

/** Deletes up to `rows` old stored facts. The caller raises the epoch of the facts. Returns the number. */
export async function deleteOldFacts(query: Query, org_id: string, kept_days: number, rows: number): Promise<number> {
  const deleted = await query(
    `delete from stored_context c where c.org_id = $1 and (c.scope, c.subject) in (
       select c.scope, c.subject from stored_context c where ${old_facts} and not ${facts_held} limit $3::integer)
     returning true as deleted`,
    [org_id, kept_days, rows],
  );
  return deleted.length;
}

/** Counts what is due, at most `max` of a kind. A null of a number of days counts nothing. */
export async function countDue(
  query: Query,
  org_id: string,
  { content_days, failed_deliveries_days, facts_days }: Retention,
  { now_ms, max }: { now_ms: number; max: number },
): Promise<RetentionAnswer["due"]> {
  const count = async (from: string, params: readonly unknown[]) => {
    const [row] = await query<{ n: number }>(
      `select count(*)::integer as n from (select ${from} limit ${max + 1}) t`,
      params,
    );
    return row?.n ?? 0;
  };
  const [failed, facts] = [failed_deliveries_days, facts_days];
  const old_decision = `from ledger l where l.org_id = $1 and l.type = 'decided' and l.leaf is null and l.intent_id < $2
    and l.at < now() - make_interval(days => $3::integer)`;
  const old = content_days === null ? null : [org_id, idBefore("intent", now_ms, content_days), content_days];
  const found = {
    decisions: old === null ? 0 : await count(old_decision, old),
    held:
      old === null
        ? 0
        : await count(
            `${old_decision} and exists (select from legal_holds h where h.org_id = $1 and ledger_about(l, h.kind, h.subject))`,
            old,
          ),
    failed_deliveries:
      failed === null
        ? 0
        : await count(`from deliveries d where ${old_failed}`, [org_id, idBefore("delivery", now_ms, failed), failed]),
    facts: facts === null ? 0 : await count(`from stored_context c where ${old_facts}`, [org_id, facts]),
  };
  const more = Object.values(found).some((each) => each > max);
  const cut = (each: number) => Math.min(each, max);
  return {
    decisions: cut(found.decisions),
    held: cut(found.held),
    failed_deliveries: cut(found.failed_deliveries),
    facts: cut(found.facts),
    more,
  };
}
