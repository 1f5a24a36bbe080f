/**
 * The head: the one row per organization that every state change locks. Decisions lock it in `commit_decisions`, all
 * other changes by `lockHead` or `withHead`. So an organization's changes have one order, its audit trail has no gap, and
 * the commit detects each decision whose epochs were raised meanwhile.
 */

import type { Query } from "../../ports.ts";
import { type AuditRow, genesisRoot, nextRoot } from "../audit/audit.ts";
import type { EventRow } from "../commit/commit-writer-rows.ts";
import { noteReviewersChanged } from "../people/reviewers-due.ts";
import { microseconds } from "../rows/microseconds.ts";
import { newestHead } from "../rows/newest-head.ts";
import type { Epochs } from "./epochs.ts";

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
  /** Entries of the ledger. */
  readonly entries: number;
  /** Live decisions allowed per month; null: unlimited. */
  readonly hard_limit: number | null;
  /** `YYYY-MM`, UTC. */
  readonly usage_period: string;
  readonly usage_used: number;
  /** Number of intents in the submission that reached the hard limit of the current period; null: not reached or not announced. */
  readonly usage_met_by: number | null;
}

/** The changes of a transaction to its organization's head. */
export interface HeadChanges {
  /** Epochs to raise; that makes every decision in flight under them stale. */
  readonly raise?: readonly (keyof Epochs)[];
  /** Appended in order. */
  readonly audit: readonly AuditRow[];
  /** Stored only while a webhook is active, including one that this transaction registers. */
  readonly events?: readonly EventRow[];
  /** Webhooks switched on (positive) or off (negative). */
  readonly webhooks_delta?: number;
  /** A new hard limit; null: none. Absent: unchanged. */
  readonly hard_limit?: number | null;
  /** Records that `quota.exceeded` was sent in the current period, for a submission of this many intents; null: withdraws that. */
  readonly usage_met_by?: number | null;
}

const now_us = microseconds("statement_timestamp()");

/**
 * SQL for an epoch after a change. Parameter `$n` says whether the change raises it. The epoch grows with any clock. If
 * the clock is behind (set back, or another server's), the epoch grows by a random step of up to 0.1 s (`chance.step`).
 * A fixed step could repeat an earlier epoch.
 */
const raised = (epoch: "auth_epoch" | "context_epoch", n: number): string =>
  `case when $${n}::boolean then
     case when ${epoch} < ${now_us} then greatest(${epoch} + 1, ${now_us}) else ${epoch} + 1 + chance.step end
   else ${epoch} end`;

const columns = `org_id, auth_epoch, policy_epoch, context_epoch, webhooks, audit_seq, encode(audit_root, 'hex') as audit_root, entries, hard_limit,
  usage_period, usage_used, usage_met_by`;

/** The epochs that identify a state of policies, membranes and stored context. */
export type StateEpochs = Pick<Head, "policy_epoch" | "context_epoch">;

/** Reads the epochs without a lock; they may have changed when this returns. */
export async function readStateEpochs(query: Query, org_id: string): Promise<StateEpochs> {
  const [head] = await query<StateEpochs>(newestHead("$1", "policy_epoch, context_epoch"), [org_id]);
  if (head === undefined) throw new Error(`organization ${org_id} has no head row`);
  return head;
}

/** Reads the number of the newest audit record without a lock. */
export async function readAuditSeq(query: Query, org_id: string): Promise<number> {
  const [head] = await query<Pick<Head, "audit_seq">>(newestHead("$1", "audit_seq"), [org_id]);
  if (head === undefined) throw new Error(`organization ${org_id} has no head row`);
  return head.audit_seq;
}

/** Inserts the head of a new organization, with an empty audit trail. `period` is the current month, `YYYY-MM` UTC. */
export async function createHead(
  query: Query,
  org_id: string,
  period: string,
  hard_limit: number | null = null,
): Promise<void> {
  await query(
    `insert into org_heads (org_id, auth_epoch, policy_epoch, context_epoch, webhooks, audit_seq, audit_root, entries, hard_limit,
       usage_period, usage_used, usage_met_by)
     values ($1, 0, 0, 0, 0, 0, decode($2, 'hex'), 0, $3::bigint, $4, 0, null)`,
    [org_id, genesisRoot, hard_limit, period],
  );
}

/**
 * How long a transaction that holds a head may send no statement. A node that hangs or disappears (a paused machine, a lost
 * network) leaves its lock behind. Then commits of all nodes with this organization in a batch wait, and all organizations
 * in those batches. Ten sessions of the node may queue for the lock, and each keeps it for this long: with 4 s, other nodes
 * made no decisions for 16 s. A healthy node sends its next statement within milliseconds.
 */
const silent_ms_max = 1_000;

/**
 * Locks the organization's head for the rest of the transaction and returns its latest version. Read what the change depends
 * on after this, never before. Throws if the organization does not exist. From here on the server ends the session after
 * 1 s without a statement; the transaction then runs again.
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
 * Locks the head, applies the changes and appends the audit and event rows, all in the caller's transaction. `changes` may
 * be a function of the locked head; null changes nothing. Call it as late in the transaction as the logic allows, because
 * the organization's decisions wait from here to the commit. Returns the head after the changes.
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
    `with chance as (select floor(random() * 100000)::bigint as step),
     audit_rows as (
       insert into ledger (org_id, seq, entry, audit_id, intent_id, type, actor, at, data, data_salt, hash, root)
       select $1, $2::bigint + n, $13::bigint + n - 1, audit_id, intent_id, type, actor, at, data::json, decode(salt, 'hex'),
         decode(hash, 'hex'), case when $2::bigint + n = $5::bigint then decode($6, 'hex') end
       from rows from (json_to_recordset($3::json) as (audit_id text, intent_id text, type text, actor text, at timestamptz, data text,
         salt text, hash text)) with ordinality as r(audit_id, intent_id, type, actor, at, data, salt, hash, n)),
     event_rows as (
       insert into events (org_id, event_id, event_type, intent_id, decision_id, escalation_id, body, created_at, recorded_seq)
       select $1, event_id, event_type, intent_id, decision_id, escalation_id, body::json, created_at, $2::bigint
       from json_to_recordset($4::json) as r(event_id text, event_type text, intent_id text, decision_id text, escalation_id text,
         body text, created_at timestamptz))
     update org_heads set audit_seq = $5::bigint, audit_root = decode($6, 'hex'), entries = $14::bigint, auth_epoch = ${raised("auth_epoch", 7)},
       policy_epoch = policy_epoch + $8::integer, context_epoch = ${raised("context_epoch", 9)},
       webhooks = $10::integer, hard_limit = $11::bigint, usage_met_by = $12::integer
     from chance where org_id = $1 and audit_seq >= $2::bigint returning auth_epoch, policy_epoch, context_epoch`,
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
      head.entries,
      after.entries,
    ],
  );
  // Keys, people or rules may have changed: the worker must check whether people can still decide.
  if (raise.includes("auth") || raise.includes("policy")) await noteReviewersChanged(query, org_id);
  return { ...after, ...epochs };
}

/** Returns the head after the changes, except for its epochs. */
function applied(head: Head, { audit, webhooks_delta = 0, hard_limit, usage_met_by }: HeadChanges): Head {
  return {
    ...head,
    webhooks: head.webhooks + webhooks_delta,
    audit_seq: head.audit_seq + audit.length,
    entries: head.entries + audit.length,
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
