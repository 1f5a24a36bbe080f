/**
 * The one statement that commits decisions.
 *
 * The statement locks the head row of every organization in the batch, in the order of their ids, and decides under
 * those locks. A statement that had to wait for a lock goes on with its old snapshot, but the locked row itself is read
 * again at its latest version (EvalPlanQual). So the head's columns (epochs, audit chain, quota) are exact on any number
 * of nodes. Every other table may be seen as it was before the wait: a key or an intent that another node committed
 * meanwhile then violates its primary key, the statement changes nothing, and the writer runs it again. Overrides are the
 * exception: FOR UPDATE reads them again too, so of any number of retries on any number of nodes exactly one spends one.
 *
 * A review ends by the database's time. If the node's clock is more than 5 s off, or the commit came late, the statement moves the
 * review's deadline, so that the review has its whole time.
 *
 * The session must have `commitSession` in force. The rows come as arrays of records in PostgreSQL's binary format; what other
 * ways cost stands in decision 0012. A lookup of idempotency keys written as a join was planned as a hash of the whole table.
 */

import type { NamedStatement } from "../database/db.ts";
import { isHead, newestHead } from "../rows/newest-head.ts";
import { audit_records, escalation_records, event_records, row_records } from "./commit-records.ts";
import type { CommitOutcome } from "./commit-writer-rows.ts";

/** SQL, true where what a row set was computed under is no longer so. */
const whenStale = (asked: string): string => `(${asked}.auth_epoch, ${asked}.policy_epoch, ${asked}.context_epoch)
          is distinct from (head.auth_epoch, head.policy_epoch, head.context_epoch)`;
/** SQL, true where a live decision counts in a later month than the head's. A late decision of an earlier month counts in the head's. */
const whenMonthOver = (asked: string): string => `${asked}.mode = 'live' and ${asked}.month > head.usage_period`;

const intent_columns = `org_id, intent_id, decision_id, membrane_id, agent_id, key_id, lineage_id, mode, verdict, status, escalation_id,
      fingerprint, intent, facts, decision, created_at`;

/**
 * Sets the state of each row set. Lookups are subqueries with `limit 1`, which run per row through the primary key whatever the
 * statistics say (on a young database they say "empty"). A join or an `exists` may be planned as a hash of a growing table.
 */
function judged(plain: boolean): string {
  const full = (sql: string): string => (plain ? "" : sql);
  return `judged as materialized (
    select input.*, head.auth_epoch as auth_now, head.policy_epoch as policy_now, head.context_epoch as context_now,
      head.audit_seq, head.webhooks, head.hard_limit, head.usage_period, head.usage_used, head.usage_met_by,
      ${plain ? "null::text as first_intent_id, null::bytea as first_request_sha256" : "first.intent_id as first_intent_id, first.request_sha256 as first_request_sha256"},
      case
        ${full(`when $5::boolean and (
          select true from intents i where i.org_id = input.org_id and i.intent_id = input.intent_id limit 1) then 'committed'`)}
        when head.org_id is null then 'no_head'
        when ${whenStale("input")} then 'stale'
        ${full("when first.org_id is not null then 'duplicate'")}
        when ${whenMonthOver("input")} then 'month_over'
        else 'new'
      end as state
    from input
    left join head on head.org_id = input.org_id
    ${full(`left join lateral (
      select k.org_id, k.intent_id, k.request_sha256 from idempotency_keys k
      where k.org_id = input.org_id and k.operation = input.operation and k.idempotency_key = input.idempotency_key limit 1) as first on true`)}),`;
}

/** Overrides that are still good, each locked for the first row set that wants it; the others lost the race. */
const spendable_overrides = `spendable as materialized (
    select wanted.line_number from (
      select distinct on (org_id, override_id) line_number, org_id, override_id from judged
      where state = 'new' and override_id is not null order by org_id, override_id, line_number) as wanted
    cross join lateral (
      select override_id from overrides where org_id = wanted.org_id and override_id = wanted.override_id and status = 'active'
        and expires_at > clock_timestamp() limit 1 for update) as still_good),
  lost as materialized (
    select line_number from judged
    where state = 'new' and override_id is not null and line_number not in (select line_number from spendable)),`;

/** Writes what plain row sets do not have: spent overrides, idempotency keys, reviews and events. */
const writes_of_extras = `spent as (
    update overrides o set status = 'consumed', consumed_by = (
      select a.intent_id from accepted a where a.org_id = o.org_id and a.override_id = o.override_id)
    where o.org_id = any (array(select org_id from accepted where override_id is not null))
      and o.override_id = any (array(select override_id from accepted where override_id is not null)) and o.status = 'active'),
  put_keys as (
    insert into idempotency_keys (org_id, operation, idempotency_key, request_sha256, intent_id, created_at)
    select org_id, operation, idempotency_key, request_sha256, intent_id, created_at from accepted where operation is not null),
  put_escalations as (
    insert into escalations (org_id, escalation_id, intent_id, decision_id, agent_id, mode, status, record, created_at, expires_at,
      lineage_id, fingerprint, demands)
    select a.org_id, e.escalation_id, a.intent_id, a.decision_id, a.agent_id, e.mode, e.status,
      case when due.moved is null then e.record else (e.record::jsonb || jsonb_build_object('expires_at',
        to_char(due.moved at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))::json end,
      a.created_at, coalesce(due.moved, e.expires_at), a.lineage_id, a.fingerprint, e.demands
    from (${escalation_records}) as e join accepted a on a.line_number = e.n
    cross join lateral (select case when abs(extract(epoch from a.created_at - clock_timestamp())) > 5
      then clock_timestamp() + (e.expires_at - a.created_at) end as moved) as due),
  put_events as (
    insert into events (org_id, event_id, event_type, intent_id, decision_id, escalation_id, body, created_at, recorded_seq)
    select a.org_id, e.event_id, e.event_type, e.intent_id, e.decision_id, e.escalation_id, e.body, e.created_at, a.audit_seq
    from (${event_records}) as e join accepted a on a.line_number = e.n where a.webhooks > 0),`;

/** Returns the full statement, or the one for plain row sets. */
function commitText(plain: boolean): string {
  /** Keeps SQL that only the full statement has. */
  const full = (sql: string): string => (plain ? "" : sql);
  const notLost = full("and line_number not in (select line_number from lost)");
  return `with
  input as materialized (${row_records}),
  head as materialized (
    select h.* from (select distinct org_id from input order by org_id) o
    cross join lateral ${newestHead("o.org_id", "*", "for update")} h),
  ${judged(plain)}
  ${full(spendable_overrides)}
  over_limit as materialized (
    select line_number from (
      select line_number, usage_used + row_number() over (partition by org_id order by line_number) > hard_limit as over
      from judged where state = 'new' ${notLost} and mode = 'live' and hard_limit is not null) as metered
    where over),
  accepted as materialized (
    select * from judged where state = 'new' ${notLost} and line_number not in (select line_number from over_limit)),
  put_intents as (
    insert into intents (${intent_columns})
    select ${intent_columns} from accepted),
  ${full(writes_of_extras)}
  chained as materialized (
    select a.org_id, a.audit_seq + row_number() over (partition by a.org_id order by e.line_number) as seq,
      e.audit_id, a.intent_id, e.type, e.actor, e.at, e.data, e.hash
    from (${audit_records}) as e join accepted a on a.line_number = e.n),
  put_audit as (
    insert into audit (org_id, seq, audit_id, intent_id, type, actor, at, data, hash)
    select org_id, seq, audit_id, intent_id, type, actor, at, data, hash from chained),
  moved as (
    update org_heads h
    set audit_seq = c.last_seq, audit_root = sha256(h.audit_root || c.hashes), usage_used = h.usage_used + coalesce(u.units, 0)
    from (select org_id, max(seq) as last_seq, string_agg(hash, ''::bytea order by seq) as hashes,
        ${newestHead("chained.org_id", "audit_seq")} as seen from chained group by org_id) as c
    left join (select org_id, count(*) as units from accepted where mode = 'live' group by org_id) as u on u.org_id = c.org_id
    where h.org_id = c.org_id and h.audit_seq >= c.seen
    returning h.org_id, h.audit_seq, h.audit_root),
  put_roots as (
    insert into audit_heads (org_id, last_seq, root) select org_id, audit_seq, audit_root from moved)
select line_number::text, case ${full("when line_number in (select line_number from lost) then 'override_spent'")}
  when state = 'new' then 'quota_exceeded' else state end, auth_now::text, policy_now::text, context_now::text,
  first_intent_id, encode(first_request_sha256, 'hex'), usage_period, greatest(usage_used, hard_limit)::text, hard_limit::text, (usage_met_by is not null)::text
from judged where state <> 'new' ${full("or line_number in (select line_number from lost)")}
  or line_number in (select line_number from over_limit)`;
}

/**
 * The same for a batch with one answer: the head is asked once, in place of once a row set, and as many row sets as its limit
 * lets through are stored, from the first on.
 */
const uniform_text = `with
  head as materialized ${newestHead("$3", "*", "for update")},
  judged as materialized (
    select asked.mode, head.auth_epoch as auth_now, head.policy_epoch as policy_now, head.context_epoch as context_now,
      head.audit_seq, head.hard_limit, head.usage_period, head.usage_used, head.usage_met_by,
      case
        when head.org_id is null then 'no_head'
        when ${whenStale("asked")} then 'stale'
        when ${whenMonthOver("asked")} then 'month_over'
        else 'new'
      end as state
    from (select $3::text as org_id, $4::bigint as auth_epoch, $5::bigint as policy_epoch, $6::bigint as context_epoch,
      $7::text as mode, $8::text as month) as asked
    left join head on head.org_id = asked.org_id),
  accepted as materialized (
    select *, case
        when state <> 'new' then 0
        when mode = 'live' and hard_limit is not null then least(hard_limit - usage_used, cardinality($1::commit_row[]))
        else cardinality($1::commit_row[])
      end as fits
    from judged),
  put_intents as (
    insert into intents (${intent_columns})
    select ${intent_columns} from (${row_records}) as input where line_number <= (select fits from accepted)),
  put_audit as (
    insert into audit (org_id, seq, audit_id, intent_id, type, actor, at, data, hash)
    select $3, (select audit_seq from accepted) + line_number, audit_id, (($1::commit_row[])[n]).intent_id, type, actor, at, data, hash
    from (${audit_records}) as e where n <= (select fits from accepted)
    returning seq, hash),
  moved as (
    update org_heads h
    set audit_seq = c.last_seq, audit_root = sha256(h.audit_root || c.hashes),
      usage_used = h.usage_used + case when a.mode = 'live' then a.fits else 0 end
    from (select max(seq) as last_seq, string_agg(hash, ''::bytea order by seq) as hashes from put_audit having count(*) > 0) as c
    cross join accepted a
    where ${isHead("$3")}
    returning h.org_id, h.audit_seq, h.audit_root),
  put_roots as (
    insert into audit_heads (org_id, last_seq, root) select org_id, audit_seq, audit_root from moved)
select line_number::text, case when state = 'new' then 'quota_exceeded' else state end, auth_now::text, policy_now::text, context_now::text,
  null, null, usage_period, greatest(usage_used, hard_limit)::text, hard_limit::text, (usage_met_by is not null)::text
from accepted cross join lateral generate_series(greatest(fits, 0) + 1, cardinality($1::commit_row[])) as line_number`;

/**
 * One statement in three makes. `plain` is for batches that are sent for the first time and have nothing but decisions in them,
 * no idempotency keys, overrides, reviews or events; `uniform` for those of them that ask the same of one head: one
 * organization, its epochs, mode and month. To begin with a plan costs the server its time by the size of the plan, each row
 * set by the steps it goes through; decision 0012 has the figures.
 */
export interface CommitStatements {
  /** Parameters 1 to 5. */
  readonly full: NamedStatement;
  /** Parameters 1 and 2. */
  readonly plain: NamedStatement;
  /** Parameters 1 and 2, organization, the epochs of keys, policies and context, mode, month. */
  readonly uniform: NamedStatement;
}

/** The statements as they should be. */
export const commitStatements: CommitStatements = {
  full: { name: "commit-decisions", text: commitText(false) },
  plain: { name: "commit-plain-decisions", text: commitText(true) },
  uniform: { name: "commit-uniform-decisions", text: uniform_text },
};

/** What a connection says before its first commit; the settings live as long as the session. */
export const commit_session = `select set_config('app.org', '*', false),
  set_config('plan_cache_mode', 'force_generic_plan', false), -- planning takes 1 ms, the plan does not depend on the batch
  set_config('enable_seqscan', 'off', false), -- the plan is kept from a time when the tables were empty
  set_config('enable_bitmapscan', 'off', false), -- nor are all versions of a head to be sorted for the newest
  set_config('jit', 'off', false)`;

/** Opens a new month: stores the count of the closed one and starts again at 0. Does nothing if another node was first. */
export const open_month_statement = `with
  head as materialized (
    select org_id, usage_period, usage_used from ${newestHead("$1", "*", "for update")} h where usage_period < $2),
  put_closed as (insert into usage_periods (org_id, period, used) select org_id, usage_period, usage_used from head)
update org_heads h set usage_period = $2, usage_used = 0, usage_met_by = null from head where ${isHead("$1")}`;

/** One returned line: text or null in the order of the statement's last select. Row sets that were stored return none. */
export type CommitLine = readonly (string | null)[];

/** What a returned line says: the row set's place in the batch and its outcome, or what has to happen first. */
export function decode(returned: CommitLine): {
  readonly index: number;
  readonly result: CommitOutcome | "month_over" | "no_head";
} {
  const [place, state, auth, policy, context, intent_id, request_sha256, period, used, hard_limit, announced] =
    returned;
  return { index: Number(place) - 1, result: result() };

  function result(): CommitOutcome | "month_over" | "no_head" {
    switch (state) {
      case "committed":
        return { outcome: "committed" };
      case "month_over":
      case "no_head":
        return state;
      case "stale":
        return { outcome: "stale", epochs: { auth: Number(auth), policy: Number(policy), context: Number(context) } };
      case "override_spent":
        return { outcome: "override_spent" };
      case "duplicate":
        return { outcome: "duplicate", intent_id: intent_id ?? "", request_sha256: request_sha256 ?? "" };
      case "quota_exceeded":
        return {
          outcome: "quota_exceeded",
          period: period ?? "",
          used: Number(used),
          hard_limit: Number(hard_limit),
          announced: announced === "true",
        };
      default:
        throw new Error(`the commit statement answered ${state}`);
    }
  }
}
