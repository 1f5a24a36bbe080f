/** SQL for grants. Every change holds the lock of the organization's head. */
import type { Grant, GrantScope, GrantUse } from "@countersign/contract";
import type { GrantRule, UsableGrant } from "@countersign/core";
import type { Query } from "../../ports.ts";

/** A stored grant. Its status does not show if its rules changed. */
export interface StoredGrant
  extends UsableGrant,
    Omit<Grant, "status" | "summary" | "policies" | "scope" | "action_type"> {
  readonly status: Exclude<Grant["status"], "rule_changed">;
}

/** Times are RFC 3339. */
export interface NewGrant {
  readonly grant_id: string;
  readonly intent_id: string;
  readonly membrane_id: string;
  readonly mode: "live" | "test";
  readonly lineage_id: string | null;
  readonly agent: string;
  readonly verb: string;
  readonly action_type: string;
  readonly scope: GrantScope;
  readonly rules: readonly GrantRule[];
  readonly times: number;
  readonly reason: string;
  readonly granted_by: string;
  readonly created_at: string;
  readonly expires_at: string;
}

const used = "(select count(*)::integer from grant_uses u where u.org_id = $1 and u.grant_id = g.grant_id)";

const columns = `g.grant_id, g.intent_id, g.membrane_id, g.mode as pipeline_mode, g.action_type, g.scope, g.rules, g.times,
  ${used} as times_used,
  case when g.revoked_at is not null then 'revoked' when ${used} >= g.times then 'spent'
    when g.expires_at <= statement_timestamp() then 'expired' else 'active' end as status,
  g.reason, g.granted_by, g.created_at, g.expires_at, g.revoked_by, g.revoked_at`;

const usable = `g.revoked_at is null and g.expires_at > statement_timestamp() and ${used} < g.times`;

export async function insertGrant(query: Query, org_id: string, made: NewGrant): Promise<StoredGrant> {
  await query(
    `insert into grants (org_id, grant_id, intent_id, membrane_id, mode, lineage_id, agent, verb, action_type, scope, rules, times,
       reason, granted_by, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::json, $11::json, $12, $13, $14, $15::timestamptz, $16::timestamptz)`,
    [
      org_id,
      made.grant_id,
      made.intent_id,
      made.membrane_id,
      made.mode,
      made.lineage_id,
      made.agent,
      made.verb,
      made.action_type,
      JSON.stringify(made.scope),
      JSON.stringify(made.rules),
      made.times,
      made.reason,
      made.granted_by,
      made.created_at,
      made.expires_at,
    ],
  );
  const grant = await readGrant(query, org_id, made.grant_id);
  if (grant === undefined) throw new Error(`${made.grant_id} is not stored`);
  return grant;
}

export async function readGrant(query: Query, org_id: string, grant_id: string): Promise<StoredGrant | undefined> {
  const [row] = await query<StoredGrant>(`select ${columns} from grants g where g.org_id = $1 and g.grant_id = $2`, [
    org_id,
    grant_id,
  ]);
  return row;
}

/** `agent` is folded. */
export interface GrantFilter {
  readonly agent?: string | undefined;
  readonly live?: boolean | undefined;
}

export function listGrants(
  query: Query,
  org_id: string,
  { agent, live = false }: GrantFilter,
  before: string | null,
  limit: number,
): Promise<StoredGrant[]> {
  return query<StoredGrant>(
    `select ${columns} from grants g where g.org_id = $1 and ($2::text is null or g.grant_id < $2)
       and ($3::text is null or g.agent = $3) and (not $4::boolean or ${usable})
     order by g.grant_id desc limit $5::integer`,
    [org_id, before, agent ?? null, live, limit],
  );
}

export function readGrantUses(query: Query, org_id: string, grant_id: string): Promise<GrantUse[]> {
  return query<GrantUse>("select intent_id, at from grant_uses where org_id = $1 and grant_id = $2 order by use", [
    org_id,
    grant_id,
  ]);
}

/** The actor of an action. Names are folded. */
export interface GrantedActor {
  readonly membrane_id: string;
  readonly mode: string;
  readonly lineage_id: string | null;
  readonly agent: string;
  readonly verb: string;
}

/** Returns the grants that may approve an action, earliest expiry first. */
export function readUsableGrants(query: Query, org_id: string, actor: GrantedActor): Promise<StoredGrant[]> {
  const { membrane_id, mode, lineage_id, agent, verb } = actor;
  return query<StoredGrant>(
    `select ${columns} from grants g where g.org_id = $1 and g.agent = $2 and g.verb = $3 and ${usable}
       and g.membrane_id = $4 and g.mode = $5 and g.lineage_id is not distinct from $6
     order by g.expires_at, g.grant_id`,
    [org_id, agent, verb, membrane_id, mode, lineage_id],
  );
}

/** Returns the number of the next use, from 1. Null: the grant is spent, revoked or expired. */
export async function nextUse(query: Query, org_id: string, grant_id: string): Promise<number | null> {
  const [row] = await query<{ use: number }>(
    `select ${used} + 1 as use from grants g where g.org_id = $1 and g.grant_id = $2 and ${usable}`,
    [org_id, grant_id],
  );
  return row?.use ?? null;
}

export async function insertGrantUse(
  query: Query,
  org_id: string,
  grant_id: string,
  { use, intent_id, at }: GrantUse & { readonly use: number },
): Promise<void> {
  await query(
    "insert into grant_uses (org_id, grant_id, use, intent_id, at) values ($1, $2, $3, $4, $5::timestamptz)",
    [org_id, grant_id, use, intent_id, at],
  );
}

/** Returns false if the grant is already spent, expired or revoked. */
export async function markGrantRevoked(
  query: Query,
  org_id: string,
  grant_id: string,
  { at, person }: { readonly at: string; readonly person: string },
): Promise<boolean> {
  const rows = await query(
    `update grants g set revoked_at = $3::timestamptz, revoked_by = $4
     where g.org_id = $1 and g.grant_id = $2 and ${usable} returning true as revoked`,
    [org_id, grant_id, at, person],
  );
  return rows.length > 0;
}
