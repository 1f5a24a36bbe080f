/**
 * The one row per organization that every state change locks: decisions through the commit statement, everything else
 * through `withHead`. So all changes of an organization stand in one order, its audit trail has no gap, and whoever
 * decided under an epoch that has been raised since is told.
 */
import type { Query } from "../../ports.ts";
import { type AuditRow, genesisRoot, nextRoot } from "../audit/audit.ts";
import type { EventRow } from "../commit/commit-writer-rows.ts";
import { microseconds } from "../rows/microseconds.ts";
import { newestHead } from "../rows/newest-head.ts";

/**
 * A decision commits only while all three are what it was computed under. They grow with every change, and what a node has
 * read under them it keeps; but a copy of the database that lacks the last changes, or a dump, sets them back, and counts
 * would come to the same numbers again with other keys, rules and facts behind them (a decision was approved by rules that no
 * longer existed, and under a key of which the database knew nothing). So those of keys and of stored context are the
 * database's time of the change in microseconds, which does not come again, and a change of policies raises that of stored
 * context too. That of policies stays a count: decisions show it as `policy_set.version`.
 */
export interface Epochs {
  /** Keys. */
  readonly auth: number;
  /** Policies, packs and membranes, which events webhooks hear of, and that an override is good. */
  readonly policy: number;
  /** Stored context. */
  readonly context: number;
}

/** The head row, locked until the transaction ends. */
export interface Head {
  readonly org_id: string;
  readonly auth_epoch: number;
  readonly policy_epoch: number;
  readonly context_epoch: number;
  /** Active webhooks, organization-wide or of one escalation. */
  readonly webhooks: number;
  readonly audit_seq: number;
  /** Hex. */
  readonly audit_root: string;
  /** Live decisions a month; null: unlimited. */
  readonly hard_limit: number | null;
  /** `YYYY-MM`, UTC. */
  readonly usage_period: string;
  readonly usage_used: number;
  /** Intents in the submission that met the hard limit of the current period; null: not met, or not announced yet. */
  readonly usage_met_by: number | null;
}

/** What a transaction changes about its organization's head. */
export interface HeadChanges {
  /** Epochs to raise; naming one makes every decision in flight under it stale. */
  readonly raise?: readonly (keyof Epochs)[];
  /** Appended in order. */
  readonly audit: readonly AuditRow[];
  /** Stored only while a webhook is active, the one being registered included. */
  readonly events?: readonly EventRow[];
  /** Webhooks switched on (positive) or off (negative). */
  readonly webhooks_delta?: number;
  /** A new hard limit; null: none. Absent: unchanged. */
  readonly hard_limit?: number | null;
  /** Notes that `quota.exceeded` was sent in the current period, and for a submission of how many intents; null: takes that back. */
  readonly usage_met_by?: number | null;
}

const now_us = microseconds("clock_timestamp()");

/**
 * An epoch after a change that parameter `$n` says raises it. Whatever the clock says, it grows; where the clock is behind (it
 * was set back, or is that of another server), by a step of up to 0.1 s that nobody could know: counts would come again.
 */
const raised = (epoch: "auth_epoch" | "context_epoch", n: number): string =>
  `case when $${n}::boolean then
     case when ${epoch} < ${now_us} then greatest(${epoch} + 1, ${now_us}) else ${epoch} + 1 + floor(random() * 100000)::bigint end
   else ${epoch} end`;

const columns = `org_id, auth_epoch, policy_epoch, context_epoch, webhooks, audit_seq, encode(audit_root, 'hex') as audit_root, hard_limit,
  usage_period, usage_used, usage_met_by`;

/** What tells states of policies, membranes and stored context apart. */
export type StateEpochs = Pick<Head, "policy_epoch" | "context_epoch">;

/** Without a lock: what they are now may be over by the time of the answer. */
export async function readStateEpochs(query: Query, org_id: string): Promise<StateEpochs> {
  const [head] = await query<StateEpochs>(newestHead("$1", "policy_epoch, context_epoch"), [org_id]);
  if (head === undefined) throw new Error(`organization ${org_id} has no head row`);
  return head;
}

/** Makes the head of a new organization, with an empty audit trail. `period` is the current month, `YYYY-MM` UTC. */
export async function createHead(
  query: Query,
  org_id: string,
  period: string,
  hard_limit: number | null = null,
): Promise<void> {
  await query(
    `insert into org_heads (org_id, auth_epoch, policy_epoch, context_epoch, webhooks, audit_seq, audit_root, hard_limit, usage_period,
       usage_used, usage_met_by)
     values ($1, 0, 0, 0, 0, 0, decode($2, 'hex'), $3::bigint, $4, 0, null)`,
    [org_id, genesisRoot, hard_limit, period],
  );
}

/**
 * Longest silence of a transaction that holds a head. A node that stands still (a paused machine, a lost network) or is gone
 * without a word leaves its lock behind, and the commits of every node that has the organization in a batch wait for it,
 * with them all organizations beside it. Ten of its sessions may stand in line, and each that gets the lock keeps it for
 * so long: with 4 s the others were without decisions for 16 s. A node that works asks its next question within milliseconds.
 */
const silent_ms_max = 1_000;

/**
 * Locks the organization's head for the rest of the transaction and answers with its latest version. Read what the
 * change depends on after this, never before. Throws when the organization does not exist. From here on the server ends the
 * session when nothing is asked of it for 1 s; the transaction is then run again.
 */
export async function lockHead(query: Query, org_id: string): Promise<Head> {
  const [head] = await query<Head>(
    `select ${columns} from org_heads
     where org_id = $1 and set_config('idle_in_transaction_session_timeout', '${silent_ms_max}', true) <> ''
     order by audit_seq desc limit 1 for update`,
    [org_id],
  );
  if (head === undefined) throw new Error(`organization ${org_id} has no head row`);
  return head;
}

/**
 * Locks the head, applies the changes and appends the audit and event rows; all of it belongs to the caller's transaction.
 * A function sees the locked head and may still decide; null changes nothing. Call it as late in the transaction as
 * the logic allows: from here to the commit the organization's decisions wait. Answers with the head after the changes.
 */
export async function withHead(
  query: Query,
  org_id: string,
  changes: HeadChanges | ((head: Head) => HeadChanges | null | Promise<HeadChanges | null>),
): Promise<Head> {
  const head = await lockHead(query, org_id);
  const wanted = typeof changes === "function" ? await changes(head) : changes;
  return wanted === null ? head : changeHead(query, head, wanted);
}

/**
 * Applies changes to a head that `lockHead` returned in this transaction, and appends the audit and event rows. Call it
 * once for each lock. Returns the head after the changes.
 */
export async function changeHead(query: Query, head: Head, wanted: HeadChanges): Promise<Head> {
  const { org_id } = head;
  const after = applied(head, wanted);
  const { raise = [] } = wanted;
  const [epochs] = await query<Pick<Head, "auth_epoch" | "policy_epoch" | "context_epoch">>(
    `with audit_rows as (
       insert into audit (org_id, seq, audit_id, intent_id, type, actor, at, data, hash)
       select $1, $2::bigint + n, audit_id, intent_id, type, actor, at, data::json, decode(hash, 'hex')
       from rows from (json_to_recordset($3::json) as (audit_id text, intent_id text, type text, actor text, at timestamptz, data text,
         hash text)) with ordinality as r(audit_id, intent_id, type, actor, at, data, hash, n)),
     event_rows as (
       insert into events (org_id, event_id, event_type, intent_id, decision_id, escalation_id, body, created_at, recorded_seq)
       select $1, event_id, event_type, intent_id, decision_id, escalation_id, body::json, created_at, $2::bigint
       from json_to_recordset($4::json) as r(event_id text, event_type text, intent_id text, decision_id text, escalation_id text,
         body text, created_at timestamptz)),
     root_row as (
       insert into audit_heads (org_id, last_seq, root) select $1, $5::bigint, decode($6, 'hex') where $5::bigint > $2::bigint)
     update org_heads set audit_seq = $5::bigint, audit_root = decode($6, 'hex'), auth_epoch = ${raised("auth_epoch", 7)},
       policy_epoch = policy_epoch + $8::integer, context_epoch = ${raised("context_epoch", 9)},
       webhooks = $10::integer, hard_limit = $11::bigint, usage_met_by = $12::integer
     where org_id = $1 and audit_seq >= $2::bigint returning auth_epoch, policy_epoch, context_epoch`,
    [
      org_id,
      head.audit_seq,
      JSON.stringify(wanted.audit),
      JSON.stringify(after.webhooks > 0 ? (wanted.events ?? []) : []),
      after.audit_seq,
      after.audit_root,
      raise.includes("auth"),
      raise.includes("policy") ? 1 : 0,
      raise.includes("context") || raise.includes("policy"),
      after.webhooks,
      after.hard_limit,
      after.usage_met_by,
    ],
  );
  return { ...after, ...epochs };
}

/** The head after the changes, except for its epochs. */
function applied(head: Head, { audit, webhooks_delta = 0, hard_limit, usage_met_by }: HeadChanges): Head {
  return {
    ...head,
    webhooks: head.webhooks + webhooks_delta,
    audit_seq: head.audit_seq + audit.length,
    audit_root:
      audit.length === 0
        ? head.audit_root
        : nextRoot(
            head.audit_root,
            audit.map((row) => row.hash),
          ),
    hard_limit: hard_limit === undefined ? head.hard_limit : hard_limit,
    usage_met_by: usage_met_by === undefined ? head.usage_met_by : usage_met_by,
  };
}
