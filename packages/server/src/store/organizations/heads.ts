/**
 * The head: one row for each organization, which every state change locks. So changes have one order, the audit trail
 * has no gap, and the commit detects decisions with old epochs.
 */

import type { Query } from "../../ports.ts";
import { type AuditRow, genesisRoot, nextRoot } from "../audit/audit.ts";
import { withState } from "../audit/state/with-state.ts";
import type { EventRow } from "../commit/commit-writer-rows.ts";
import { noteReviewersChanged } from "../people/reviewers-due.ts";
import { microseconds } from "../rows/microseconds.ts";
import { newestHead } from "../rows/newest-head.ts";
import type { Epochs } from "./epochs.ts";

/** Locked until the transaction ends. */
export interface Head {
  readonly org_id: string;
  readonly auth_epoch: number;
  readonly policy_epoch: number;
  readonly context_epoch: number;
  /** Active webhooks, including those of one escalation. */
  readonly webhooks: number;
  readonly audit_seq: number;
  /** Hex. */
  readonly audit_root: string;
  readonly entries: number;
  /** Live decisions allowed per month; null: unlimited. */
  readonly hard_limit: number | null;
  /** `YYYY-MM`, UTC. */
  readonly usage_period: string;
  readonly usage_used: number;
  /** Intents in the submission that reached the hard limit. Null: not reached or not announced. */
  readonly usage_met_by: number | null;
}

export interface HeadChanges {
  /** Epochs to raise. Decisions in flight under them become stale. */
  readonly raise?: readonly (keyof Epochs)[];
  readonly audit: readonly AuditRow[];
  /** Stored only while a webhook is active, even if this transaction registers it. */
  readonly events?: readonly EventRow[];
  /** Webhooks switched on (positive) or off (negative). */
  readonly webhooks_delta?: number;
  /** Null: no limit. Absent: unchanged. */
  readonly hard_limit?: number | null;
  /** `quota.exceeded` was sent for a submission of this many intents. Null: withdraws that. */
  readonly usage_met_by?: number | null;
}

const now_us = microseconds("statement_timestamp()");

/**
 * SQL for a new epoch; `$n`: raise it. If the clock is behind, adds a random step of up to 0.1 s, because a fixed step
 * could repeat an epoch.
 */
const raised = (epoch: "auth_epoch" | "context_epoch", n: number): string =>
  `case when $${n}::boolean then
     case when ${epoch} < ${now_us} then greatest(${epoch} + 1, ${now_us}) else ${epoch} + 1 + chance.step end
   else ${epoch} end`;

const columns = `org_id, auth_epoch, policy_epoch, context_epoch, webhooks, audit_seq, encode(audit_root, 'hex') as audit_root, entries, hard_limit,
  usage_period, usage_used, usage_met_by`;

export type StateEpochs = Pick<Head, "policy_epoch" | "context_epoch">;

/** Takes no lock, so they may have changed. */
export async function readStateEpochs(query: Query, org_id: string): Promise<StateEpochs> {
  const [head] = await query<StateEpochs>(newestHead("$1", "policy_epoch, context_epoch"), [org_id]);
  if (head === undefined) throw new Error(`organization ${org_id} has no head row`);
  return head;
}

export async function readAuditSeq(query: Query, org_id: string): Promise<number> {
  const [head] = await query<Pick<Head, "audit_seq">>(newestHead("$1", "audit_seq"), [org_id]);
  if (head === undefined) throw new Error(`organization ${org_id} has no head row`);
  return head.audit_seq;
}

/** `period` is the current month, `YYYY-MM` UTC. */
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
 * The server ends a session that holds a head without a statement for this time. A node that hangs blocks commits of
 * all nodes: with 4 s and ten queued sessions, they waited 16 s.
 */
const silent_ms_max = 1_000;

/**
 * Locks the head until the transaction ends. Read everything that the change depends on after this. Throws if the
 * organization does not exist. After 1 s without a statement, the server ends the session and the transaction is
 * retried.
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
 * Locks the head, applies the changes and appends rows. Null changes nothing. Call it late, because the organization's
 * decisions wait until the commit. Returns the changed head.
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
 * Call it once for each lock, and after the rows are written, because entries contain rows that decide. Returns the
 * changed head.
 */
export async function changeHead(query: Query, head: Head, wanted: HeadChanges): Promise<Head> {
  const { org_id } = head;
  const audit = await withState(query, org_id, wanted.audit);
  const after = applied(head, { ...wanted, audit });
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
       insert into events (org_id, event_id, event_type, intent_id, decision_id, escalation_id, membrane_id, body, created_at, recorded_seq)
       select $1, event_id, event_type, intent_id, decision_id, escalation_id, membrane_id, body::json, created_at, $2::bigint
       from json_to_recordset($4::json) as r(event_id text, event_type text, intent_id text, decision_id text, escalation_id text,
         membrane_id text, body text, created_at timestamptz))
     update org_heads set audit_seq = $5::bigint, audit_root = decode($6, 'hex'), entries = $14::bigint, auth_epoch = ${raised("auth_epoch", 7)},
       policy_epoch = policy_epoch + $8::integer, context_epoch = ${raised("context_epoch", 9)},
       webhooks = $10::integer, hard_limit = $11::bigint, usage_met_by = $12::integer
     from chance where org_id = $1 and audit_seq >= $2::bigint returning auth_epoch, policy_epoch, context_epoch`,
    [
      org_id,
      head.audit_seq,
      JSON.stringify(audit),
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
  // The worker must check if people can still decide.
  if (raise.includes("auth") || raise.includes("policy")) await noteReviewersChanged(query, org_id);
  return { ...after, ...epochs };
}

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
