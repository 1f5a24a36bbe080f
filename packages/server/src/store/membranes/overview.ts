/** SQL for the overview: counts over a bounded number of the newest intents of a window of time. */
import { limits, type Overview, type PipelineMode, pullFailures, type Verdict } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { earliestId, idNear } from "../intents/intents.ts";

/** The window. `from` is included, `to` is not; RFC 3339. */
export interface OverviewWindow {
  readonly from: string;
  readonly to: string;
  readonly bucket_seconds: number;
  readonly membrane_id: string | null;
  readonly mode: PipelineMode | null;
}

/** Decisions that fall together. `bin` is the risk score in steps of 0.1: 0 to 9. */
export interface CountedDecisions {
  readonly bucket: number;
  readonly mode: PipelineMode;
  readonly verdict: Verdict;
  /** Null: not read, the decisions are large and newer ones came first. */
  readonly bin: number | null;
  readonly count: number;
}

/** More decisions than these are not counted: half a second of one connection, where they are not large. */
const decisions_max = 50_000;
/** Decisions that are no plain approvals whose reasons are read, and how many bytes of them as they are stored: one decision at least. */
const held_max = 2_000;
const held_bytes_max = 8 * 1_048_576;

/** Decisions that take more room than this are large, and the risk is read of so many bytes of large ones, the newest. */
const large_bytes = 2_000;
const large_bytes_max = 32 * 1_048_576;

const within = `org_id = $1 and created_at >= $2::timestamptz and created_at < $3::timestamptz
  and intent_id >= $4 and intent_id < $5 and ($6::text is null or membrane_id = $6) and ($7::text is null or mode = $7)`;

function windowValues(org_id: string, { from, to, membrane_id, mode }: OverviewWindow): (string | null)[] {
  const earliest = earliestId({ from, membrane_id: membrane_id ?? undefined });
  return [org_id, from, to, earliest, idNear(to, 1), membrane_id, mode];
}

/**
 * Has what the rest of the transaction reads read along the indexes. Of a window's decisions PostgreSQL guesses a share of the
 * share that there are (ids and times say the same twice), so it read 660,000 of all organizations for the newest 50,000 of a
 * month: 2.2 s in place of 0.2.
 */
export async function readAlongIndexes(query: Query): Promise<void> {
  await query("select set_config(name, 'off', true) from unnest(array['enable_seqscan', 'enable_bitmapscan']) as name");
}

/** The newest decisions of the window, grouped. Their sum reaches `decisions_max` where there are more. */
export async function countDecisions(
  query: Query,
  org_id: string,
  window: OverviewWindow,
): Promise<CountedDecisions[]> {
  return query<CountedDecisions>(
    `select floor(extract(epoch from created_at - $2::timestamptz) / $8::integer)::integer as bucket, mode, verdict,
       case when large_before < ${large_bytes_max} or bytes <= ${large_bytes} then
         least(9, floor((decision ->> 'risk_score')::double precision * 10 + 1e-9))::integer end as bin, count(*)::integer as count
     from (select *, sum(case when bytes > ${large_bytes} then bytes else 0 end) over (order by intent_id desc) - bytes as large_before
       from (select intent_id, mode, verdict, decision, created_at, pg_column_size(decision) as bytes from intents where ${within}
         order by intent_id desc limit ${decisions_max}) newest) weighed
     group by 1, 2, 3, 4 order by 1`,
    [...windowValues(org_id, window), window.bucket_seconds],
  );
}

/** Whether `counted` decisions may not be all of a window. */
export function maybeCut(counted: number): boolean {
  return counted >= decisions_max;
}

/** Counts from the reasons of the newest decisions whose verdict is not `approve`. */
export interface ReadReasons {
  /** The policies that stopped or changed most. */
  readonly policies: Overview["policies"];
  /** How many decisions were read. */
  readonly read: number;
  /** In how many of them a fact was missing. */
  readonly missing: number;
  /** The facts that were missing most often, and the rules that asked for them. */
  readonly facts: readonly {
    readonly path: string;
    readonly decisions: number;
    readonly rules: readonly { readonly policy_id: string; readonly policy: string }[];
  }[];
}

/** Why a fact counts as missing. A fact of a wrong type is there, and is not counted. */
const missingReasons = ["missing", "null", "stale", ...Object.keys(pullFailures)];

/** Reads the reasons of the newest decisions whose verdict is not `approve`. */
export async function readReasons(query: Query, org_id: string, window: OverviewWindow): Promise<ReadReasons> {
  const [found] = await query<ReadReasons>(
    `with newest as materialized (
       select intent_id, decision -> 'reasons' as reasons
       from (select intent_id, decision, sum(pg_column_size(decision)) over (order by intent_id desc) - pg_column_size(decision) as bytes_before
         from (select intent_id, decision from intents where ${within} and verdict <> 'approve'
           order by intent_id desc limit ${held_max}) held) weighed
       where bytes_before < ${held_bytes_max}),
     told as (
       select intent_id, reason ->> 'policy_id' as policy_id, reason ->> 'policy' as policy, reason ->> 'effect' as effect,
         reason -> 'unknown_facts' as unknown_facts
       from newest, json_array_elements(reasons) reason where reason ->> 'effect' <> 'none'),
     missing as (
       select distinct intent_id, policy_id, policy, fact ->> 'path' as path
       from told, json_array_elements(unknown_facts) fact
       where fact ->> 'path' like 'facts.%' and fact ->> 'reason' = any($8))
     select
       (select coalesce(json_agg(p), '[]') from (select policy_id, policy, effect, count(*)::integer as count
          from told group by 1, 2, 3 order by 4 desc, 2 limit 10) p) as policies,
       (select count(*)::integer from newest) as read,
       (select count(distinct intent_id)::integer from missing) as missing,
       (select coalesce(json_agg(f), '[]') from (select path, count(distinct intent_id)::integer as decisions,
            jsonb_agg(distinct jsonb_build_object('policy_id', policy_id, 'policy', policy)) as rules
          from missing group by 1 order by 2 desc, 1 limit ${limits.missing_facts_max}) f) as facts`,
    [...windowValues(org_id, window), missingReasons],
  );
  return found as ReadReasons;
}

/** The busiest agents among the newest decisions. */
export async function topAgents(query: Query, org_id: string, window: OverviewWindow): Promise<Overview["agents"]> {
  return query(
    `select agent_id, count(*)::integer as count,
       (count(*) filter (where verdict in ('block', 'escalate')))::integer as held
     from (select agent_id, verdict from intents where ${within} order by intent_id desc limit ${decisions_max}) newest
     group by 1 order by 2 desc, 1 limit 10`,
    windowValues(org_id, window),
  );
}

/** What waits for people now, test mode left out. */
export async function readQueue(query: Query, org_id: string): Promise<Overview["queue"]> {
  const [queue] = await query<Overview["queue"]>(
    `select count(*)::integer as pending, min(created_at) as oldest_at, min(expires_at) as next_expires_at
     from escalations where org_id = $1 and status = 'pending' and mode = 'live'`,
    [org_id],
  );
  return queue ?? { pending: 0, oldest_at: null, next_expires_at: null };
}
