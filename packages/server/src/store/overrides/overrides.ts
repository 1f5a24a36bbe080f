/** SQL for overrides. Every change holds the lock of the organization's head. `commit_decisions` spends overrides. */
import { limits, type Override } from "@countersign/contract";
import type { Stakes } from "@countersign/core";
import type { Query } from "../../ports.ts";

export interface NewOverride {
  readonly override_id: string;
  readonly intent_id: string;
  readonly decision_id: string;
  readonly agent_id: string;
  readonly mode: "live" | "test";
  readonly reason: string;
  readonly lifts: readonly string[];
  readonly policies_overridden: readonly string[];
  readonly approved_by: string;
  readonly created_at: string;
}

const day = `interval '${limits.override_hours} hours'`;

/** SQL: an override expires 24 hours after its approval, or after its creation while it waits for a second person. */
const columns = `override_id, intent_id, decision_id, agent_id,
  case when status = 'active' and expires_at <= clock_timestamp() then 'expired'
    when status = 'pending_second' and created_at + ${day} <= clock_timestamp() then 'expired' else status end as status,
  reason, approved_by, seconded_by, approved_at, expires_at, policies_overridden, consumed_by`;

/** Writes an override. With 1 person, it is active from `created_at`. With 2, it waits for the second. */
export async function insertOverride(
  query: Query,
  org_id: string,
  made: NewOverride,
  people: 1 | 2,
): Promise<Override> {
  const [row] = await query<Override>(
    `insert into overrides (org_id, override_id, intent_id, decision_id, agent_id, mode, fingerprint, status, reason, lifts,
       policies_overridden, approved_by, created_at, approved_at, expires_at)
     select $1, $2, $3, $4, $5, $6, i.fingerprint, $7, $8, $9::json, $10::json, $11, $12::timestamptz,
       case $7 when 'active' then $12::timestamptz end, case $7 when 'active' then $12::timestamptz + ${day} end
     from intents i where i.org_id = $1 and i.intent_id = $3
     returning ${columns}`,
    [
      org_id,
      made.override_id,
      made.intent_id,
      made.decision_id,
      made.agent_id,
      made.mode,
      people === 1 ? "active" : "pending_second",
      made.reason,
      JSON.stringify(made.lifts),
      JSON.stringify(made.policies_overridden),
      made.approved_by,
      made.created_at,
    ],
  );
  if (row === undefined) throw new Error(`${made.intent_id} is not stored`);
  return row;
}

/** Returns the newest override of an intent in any status. */
export async function readOverrideOf(query: Query, org_id: string, intent_id: string): Promise<Override | undefined> {
  const [row] = await query<Override>(
    `select ${columns} from overrides where org_id = $1 and intent_id = $2 order by override_id desc limit 1`,
    [org_id, intent_id],
  );
  return row;
}

export async function secondOverride(
  query: Query,
  org_id: string,
  override_id: string,
  person: string,
  at: string,
): Promise<Override> {
  const [row] = await query<Override>(
    `update overrides set status = 'active', seconded_by = $3, approved_at = $4::timestamptz, expires_at = $4::timestamptz + ${day}
     where org_id = $1 and override_id = $2 and status = 'pending_second' returning ${columns}`,
    [org_id, override_id, person, at],
  );
  if (row === undefined) throw new Error(`${override_id} is not waiting for a second person`);
  return row;
}

/** Revokes an override that expired while it waited, so that a new one can be created. */
export async function dropLapsed(query: Query, org_id: string, intent_id: string): Promise<void> {
  await query(
    `update overrides set status = 'revoked' where org_id = $1 and intent_id = $2 and status = 'pending_second'
       and created_at + ${day} <= statement_timestamp()`,
    [org_id, intent_id],
  );
}

/** Returns false if the override is already spent, expired or revoked. */
export async function markOverrideRevoked(query: Query, org_id: string, override_id: string): Promise<boolean> {
  const rows = await query(
    `update overrides set status = 'revoked' where org_id = $1 and override_id = $2 and (
       status = 'pending_second' and created_at + ${day} > statement_timestamp()
       or status = 'active' and expires_at > statement_timestamp())
     returning true as revoked`,
    [org_id, override_id],
  );
  return rows.length > 0;
}

export async function readOverride(query: Query, org_id: string, override_id: string): Promise<Override | undefined> {
  const rows = await query<Override>(`select ${columns} from overrides where org_id = $1 and override_id = $2`, [
    org_id,
    override_id,
  ]);
  return rows[0];
}

/** Returns the rules that an override lifts, in any status. Throws if it is not stored. */
export async function readLifts(query: Query, org_id: string, override_id: string): Promise<readonly string[]> {
  const [row] = await query<{ lifts: readonly string[] }>(
    "select lifts from overrides where org_id = $1 and override_id = $2",
    [org_id, override_id],
  );
  if (row === undefined) throw new Error(`${override_id} is not stored`);
  return row.lifts;
}

export interface OverrideFilter {
  readonly agent_id?: string;
  readonly intent_id?: string;
}

export function listOverrides(
  query: Query,
  org_id: string,
  { agent_id, intent_id }: OverrideFilter,
  before: string | null,
  limit: number,
): Promise<Override[]> {
  return query<Override>(
    `select ${columns} from overrides where org_id = $1 and ($2::text is null or override_id < $2)
       and ($3::text is null or agent_id = $3) and ($4::text is null or intent_id = $4)
     order by override_id desc limit $5::integer`,
    [org_id, before, agent_id ?? null, intent_id ?? null, limit],
  );
}

export interface ReadyOverride {
  readonly override_id: string;
  readonly lifts: readonly string[];
  readonly blocked: Stakes;
  readonly expires_at: string;
}

/** Returns the active overrides of an action, oldest first, up to 100. */
export function readReadyOverrides(
  query: Query,
  org_id: string,
  fingerprint: string,
  mode: "live" | "test",
): Promise<ReadyOverride[]> {
  return query<ReadyOverride>(
    `select o.override_id, o.lifts, l.intent -> 'submitted' as blocked, o.expires_at from overrides o
     join ledger l on l.org_id = o.org_id and l.intent_id = o.intent_id and l.type = 'decided'
     where o.org_id = $1 and o.fingerprint = decode($2, 'hex') and o.mode = $3
       and o.status = 'active' and o.expires_at > clock_timestamp() order by o.override_id limit 100`,
    [org_id, fingerprint, mode],
  );
}
