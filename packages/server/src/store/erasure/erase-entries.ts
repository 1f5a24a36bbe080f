/** SQL that erases documents of the ledger. Every change holds the lock of the organization's head (decision 0065). */
import type { KeptDocuments } from "@countersign/core";
import type { Query } from "../../ports.ts";

/** Entries without an intent whose data may name people. All other such entries say how the service is set up, and stay. */
const erasableTypes: readonly string[] = [
  ...["context_stored", "context_deleted", "counter_adjusted", "counter_adjustment_requested", "legal_hold_placed"],
  ...[
    "user_invited",
    "user_joined",
    "user_role_changed",
    "user_removed",
    "user_name_changed",
    "invitation_revoked",
    "absence_set",
  ],
  ...["chat_account_linked", "chat_account_unlinked"],
];

export interface Subject {
  readonly kind: string;
  readonly subject: string;
}

export interface FoundEntries {
  /** Null: there are no entries left. */
  readonly last_seq: number | null;
  /** Intents of entries that are about the subject. */
  readonly intent_ids: readonly string[];
  /** Such entries without an intent. */
  readonly seqs: readonly number[];
}

/**
 * Reads a page of the ledger after `after_seq`, and returns what is about the subject and still has its documents. The page
 * ends early when it found `found_max` entries.
 */
export async function findEntries(
  query: Query,
  org_id: string,
  { kind, subject }: Subject,
  range: { readonly after_seq: number; readonly to_seq: number; readonly rows: number; readonly found_max: number },
): Promise<FoundEntries> {
  const [found] = await query<FoundEntries>(
    `with page as materialized (
       select l.seq, l.intent_id, l.type, l.leaf is null and (l.intent_id is not null or l.type = any ($7::text[])) and (
           ledger_about(l, $2, $3)
           or $2 = 'target' and l.type in ('context_stored', 'context_deleted') and l.data #>> '{subject,identifier}' = $3) as is_about
       from ledger l where l.org_id = $1 and l.seq > $4::bigint and l.seq <= $5::bigint order by l.seq limit $6::integer),
     found as materialized (select seq, intent_id from page where is_about order by seq limit $8::integer)
     select case when (select count(*) from found) = $8::integer then (select max(seq) from found) else (select max(seq) from page) end as last_seq,
       (select coalesce(array_agg(distinct intent_id) filter (where intent_id is not null), '{}') from found) as intent_ids,
       (select coalesce(array_agg(seq) filter (where intent_id is null), '{}') from found) as seqs`,
    [org_id, kind, subject, range.after_seq, range.to_seq, range.rows, erasableTypes, range.found_max],
  );
  if (found === undefined) throw new Error("an aggregate returned no row");
  return found;
}

export interface ErasableIntent {
  readonly intent_id: string;
  /** All intents of a review have the same action, so they are erased together. */
  readonly escalation_id: string | null;
  readonly held: boolean;
}

/** SQL: the hold `h` is about an intent: its decision, or another entry of it. Two conditions, because each has an index. */
const holdIsAbout = (intent_id: string) => `(
  exists (select from ledger d where d.org_id = $1 and d.intent_id = ${intent_id} and d.type = 'decided' and ledger_about(d, h.kind, h.subject))
  or exists (select from ledger o where o.org_id = $1 and o.intent_id = ${intent_id} and o.type <> 'decided' and o.intent_id is not null
    and ledger_about(o, h.kind, h.subject)))`;

/** Returns these intents and those of the same reviews, if they have their documents; `held`: a legal hold is about one of them. */
export function readErasable(query: Query, org_id: string, intent_ids: readonly string[]): Promise<ErasableIntent[]> {
  return query<ErasableIntent>(
    `with asked as materialized (
       select l.intent_id, l.escalation_id, l.leaf from ledger l
       where l.org_id = $1 and l.type = 'decided' and l.intent_id = any ($2::text[])),
     whole as materialized (
       select * from asked
       union all
       select l.intent_id, l.escalation_id, l.leaf from ledger l where l.org_id = $1 and l.type = 'decided' and l.intent_id <> all ($2::text[])
         and l.escalation_id = any (array(select escalation_id from asked where escalation_id is not null))),
     on_hold as materialized (
       select w.intent_id, w.escalation_id from whole w
       where exists (select from legal_holds h where h.org_id = $1 and ${holdIsAbout("w.intent_id")}))
     select w.intent_id, w.escalation_id, exists (select from on_hold h
         where h.intent_id = w.intent_id or h.escalation_id = w.escalation_id) as held
     from whole w where w.leaf is null order by w.intent_id`,
    [org_id, intent_ids],
  );
}

export interface WholeEntry {
  readonly seq: number;
  readonly type: string;
  readonly intent: Readonly<Record<string, unknown>> | null;
  readonly facts: Readonly<Record<string, unknown>> | null;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Returns the entries of these intents that have their documents. */
export function readWholeEntries(query: Query, org_id: string, intent_ids: readonly string[]): Promise<WholeEntry[]> {
  return query<WholeEntry>(
    `select seq, type, intent, facts, data from ledger
     where org_id = $1 and type = 'decided' and intent_id = any ($2::text[]) and leaf is null
     union all
     select seq, type, null, null, data from ledger
     where org_id = $1 and type <> 'decided' and intent_id is not null and intent_id = any ($2::text[]) and leaf is null`,
    [org_id, intent_ids],
  );
}

export function readEntriesBySeq(query: Query, org_id: string, seqs: readonly number[]): Promise<WholeEntry[]> {
  return query<WholeEntry>(
    `select seq, type, null as intent, null as facts, data from ledger
     where org_id = $1 and seq = any ($2::bigint[]) and type <> 'decided' and leaf is null`,
    [org_id, seqs],
  );
}

/** Stores the leaf and what is kept, and removes documents, salts and the fingerprint. */
export async function eraseEntries(
  query: Query,
  org_id: string,
  entries: readonly { readonly seq: number; readonly kept: KeptDocuments }[],
): Promise<void> {
  if (entries.length === 0) return;
  await query(
    `update ledger l set leaf = ledger_leaf(l), kept = e.kept, intent = null, facts = null, data = null, intent_salt = null,
       facts_salt = null, data_salt = null, fingerprint = null
     from (select seq, kept from json_to_recordset($2::json) as c(seq bigint, kept json) offset 0) e
     where l.org_id = $1 and l.seq = e.seq and l.leaf is null`,
    [org_id, JSON.stringify(entries)],
  );
}

/** Returns the hold that keeps the intent; null: none. */
export async function holdOnIntent(query: Query, org_id: string, intent_id: string): Promise<string | null> {
  const [held] = await query<{ hold_id: string }>(
    `select h.hold_id from legal_holds h where h.org_id = $1 and ${holdIsAbout("$2")} order by h.hold_id limit 1`,
    [org_id, intent_id],
  );
  return held?.hold_id ?? null;
}
