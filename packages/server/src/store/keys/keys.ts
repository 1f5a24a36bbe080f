/** SQL for API keys. Only the SHA-256 of a key is stored. Source: spec §2.2. */
import type { ApiKey, KeyBindings, RateCategory, Role } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { endSoloBeside } from "../people/solo.ts";
import { microseconds } from "../rows/microseconds.ts";
import { newestHead } from "../rows/newest-head.ts";
import { is_valid, key_warnings } from "./key-warnings.ts";

type KeyState = "valid" | "expired" | "revoked";

/**
 * SQL: the state of the key `k` by the database's clock. Revoked wins over expired: a revoked key is answered like an
 * unknown one, an expired key is asked to renew. Source: spec §3, §5 rule 6.
 */
const key_state = `case when k.revoked_at is not null then 'revoked' when k.expires_at <= clock_timestamp() then 'expired'
      else 'valid' end as state`;

/** A key and its organization's epoch from the same snapshot. */
export interface PresentedKey {
  readonly key_sha256: Buffer;
  readonly org_id: string;
  readonly key_id: string;
  readonly lineage_id: string;
  readonly environment: "live" | "shadow" | "test";
  readonly scope: "org" | "agent";
  readonly role: Role;
  readonly agent_id: string | null;
  readonly bindings: KeyBindings | null;
  readonly rate_limits: Readonly<Partial<Record<RateCategory, number>>> | null;
  readonly state: KeyState;
  /** Microseconds until expiry; negative after it. */
  readonly left_us: number;
  readonly auth_epoch: number;
}

/**
 * Reads keys by SHA-256 ($1: bytea[]). Key and epoch come from one snapshot, so a later revocation raises the epoch
 * above the one read.
 */
export const readPresentedKeys = {
  name: "read_presented_keys",
  text: `select k.key_sha256, k.org_id, k.key_id, k.lineage_id, k.environment, k.scope, k.role, k.agent_id, k.bindings,
      k.rate_limits, ${key_state}, ${microseconds("k.expires_at - clock_timestamp()")} as left_us, h.auth_epoch
    from key_index i
    join api_keys k on k.org_id = i.org_id and k.key_id = i.key_id
    cross join lateral ${newestHead("k.org_id", "auth_epoch")} h
    where i.key_sha256 = any($1::bytea[])`,
  reads_only: true,
} as const;

/** Reads whether open mode has ended, and the epoch of the organization (null: none yet). */
export const readOpenMode = {
  name: "read_open_mode",
  text: `select i.key_ever_created, ${newestHead("$1", "auth_epoch")} as auth_epoch from instance i`,
  reads_only: true,
} as const;

export async function openModeEnded(query: Query): Promise<boolean> {
  const rows = await query("select from instance where key_ever_created");
  return rows.length > 0;
}

/** Times are RFC 3339. */
export interface NewKey {
  readonly org_id: string;
  readonly key_id: string;
  readonly key_sha256: Buffer;
  readonly lineage_id: string;
  readonly name: string | null;
  readonly environment: string;
  readonly scope: string;
  readonly role: string;
  readonly agent_id: string | null;
  readonly bindings: KeyBindings | null;
  readonly rate_limits: object | null;
  readonly created_by: string | null;
  /** Null: the creator's person; without a creator, the key's own chain. */
  readonly person: string | null;
  readonly created_at: string;
  readonly expires_at: string;
  readonly lifetime_seconds: number;
  readonly rotated_from: string | null;
}

/**
 * Writes a key. Ends open mode permanently, and solo mode if the key is a second person's. The caller must raise the
 * epoch.
 */
export async function insertKey(query: Query, key: NewKey): Promise<void> {
  const [written] = await query<{ person: string }>(
    `insert into api_keys (org_id, key_id, key_sha256, lineage_id, name, environment, scope, role, agent_id, rate_limits,
       created_by, created_at, expires_at, lifetime_seconds, rotated_from, person, bindings)
     values ($1, $2, $3::bytea, $4, $5, $6, $7, $8, $9, $10::json, $11, $12::timestamptz, $13::timestamptz, $14::bigint, $15,
       coalesce($16, (select m.person from api_keys m where m.org_id = $1 and m.key_id = $11), $11, $4), $17::json)
     returning person`,
    [
      key.org_id,
      key.key_id,
      key.key_sha256,
      key.lineage_id,
      key.name,
      key.environment,
      key.scope,
      key.role,
      key.agent_id,
      jsonOrNull(key.rate_limits),
      key.created_by,
      key.created_at,
      key.expires_at,
      key.lifetime_seconds,
      key.rotated_from,
      key.person,
      jsonOrNull(key.bindings),
    ],
  );
  if (written !== undefined) await endSoloBeside(query, key.org_id, written.person);
  await query("insert into key_index (key_sha256, org_id, key_id) values ($1::bytea, $2, $3)", [
    key.key_sha256,
    key.org_id,
    key.key_id,
  ]);
  // The condition keeps later insertions from waiting for this row's lock.
  await query("update instance set key_ever_created = true where not key_ever_created");
}

function jsonOrNull(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}

const stored = `key_id, name, environment, scope, role, agent_id, bindings, created_by, created_at, expires_at, last_used_at, revoked_at,
  rotated_from`;

const listed = `${stored}, ${key_warnings} as warnings, case when ${is_valid}
    then floor(extract(epoch from k.expires_at - statement_timestamp()) / 86400)::integer end as expires_in_days`;

/** Returns keys of any state below the id `before`, newest first. */
export function listKeys(query: Query, org_id: string, limit: number, before: string | null): Promise<ApiKey[]> {
  return query<ApiKey>(
    `select ${listed} from api_keys k where org_id = $1 and ($3::text is null or key_id < $3)
     order by key_id desc limit $2::integer`,
    [org_id, limit, before],
  );
}

export type KeyOfAgents = Pick<ApiKey, "key_id" | "name" | "role" | "agent_id" | "bindings">;

/** Returns valid keys with scope agent or bindings, newest first. */
export function readKeysOfAgents(query: Query, org_id: string): Promise<KeyOfAgents[]> {
  return query<KeyOfAgents>(
    `select key_id, name, role, agent_id, bindings from api_keys k
     where org_id = $1 and revoked_at is null and ${is_valid} and (agent_id is not null or bindings is not null)
     order by key_id desc`,
    [org_id],
  );
}

export interface KeyRow extends Omit<ApiKey, "expires_in_days" | "warnings"> {
  readonly lineage_id: string;
  readonly person: string;
  readonly rate_limits: object | null;
  readonly lifetime_seconds: number;
  readonly state: KeyState;
}

export async function lockKey(query: Query, org_id: string, key_id: string): Promise<KeyRow | undefined> {
  const [key] = await lockKeys(query, org_id, [key_id]);
  return key;
}

/** Locks keys in the order of their ids, like `noteKeyUses`. */
export function lockKeys(query: Query, org_id: string, key_ids: readonly string[]): Promise<KeyRow[]> {
  return query<KeyRow>(
    `select ${stored}, lineage_id, person, rate_limits, lifetime_seconds, ${key_state}
     from api_keys k where org_id = $1 and key_id = any($2::text[]) order by key_id for update`,
    [org_id, key_ids],
  );
}

/**
 * Returns true if the key exists and is not revoked, which holds under the head's lock. Takes no lock on the key,
 * because `noteKeyUses` locks many and could deadlock with a revocation.
 */
export async function keyStands(query: Query, org_id: string, key_id: string): Promise<boolean> {
  const rows = await query("select from api_keys where org_id = $1 and key_id = $2 and revoked_at is null", [
    org_id,
    key_id,
  ]);
  return rows.length > 0;
}

/** Returns `valid` if one key of the chain is, otherwise the state of its newest key. */
export async function readLineageState(query: Query, org_id: string, lineage_id: string): Promise<KeyState> {
  const [key] = await query<{ state: KeyState }>(
    `select state from (select k.key_id, ${key_state} from api_keys k where org_id = $1 and lineage_id = $2) as chain
     order by (state = 'valid') desc, key_id desc limit 1`,
    [org_id, lineage_id],
  );
  // Keys are never deleted, so this chain never existed.
  return key?.state ?? "revoked";
}

/** Returns false if the key was already revoked or does not exist. */
export async function markRevoked(query: Query, org_id: string, key_id: string, at: string): Promise<boolean> {
  return (await markAllRevoked(query, org_id, [key_id], at)).length > 0;
}

/** Returns the ids of keys that were not revoked before. Several keys need `lockKeys` first. */
export async function markAllRevoked(
  query: Query,
  org_id: string,
  key_ids: readonly string[],
  at: string,
): Promise<string[]> {
  const rows = await query<{ key_id: string }>(
    `update api_keys set revoked_at = $3::timestamptz where org_id = $1 and key_id = any($2::text[]) and revoked_at is null
     returning key_id`,
    [org_id, key_ids, at],
  );
  return rows.map(({ key_id }) => key_id);
}

export async function readKey(query: Query, org_id: string, key_id: string): Promise<ApiKey | undefined> {
  const [key] = await query<ApiKey>(`select ${listed} from api_keys k where org_id = $1 and key_id = $2`, [
    org_id,
    key_id,
  ]);
  return key;
}

/** Needs `lockKey` first. */
export async function setKeyBindings(
  query: Query,
  org_id: string,
  key_id: string,
  bindings: KeyBindings | null,
): Promise<void> {
  await query("update api_keys set bindings = $3::json where org_id = $1 and key_id = $2", [
    org_id,
    key_id,
    jsonOrNull(bindings),
  ]);
}

/**
 * Sets the rate limits of a rotation chain, which shares one window. Null: the instance's limits. Locks in the order of
 * ids, like `noteKeyUses`.
 */
export async function setKeyLimits(
  query: Query,
  org_id: string,
  key_id: string,
  rate_limits: object | null,
): Promise<boolean> {
  const rows = await query(
    `with chain as materialized (
       select key_id from api_keys where org_id = $1
         and lineage_id = (select lineage_id from api_keys where org_id = $1 and key_id = $2) order by key_id for update)
     update api_keys k set rate_limits = $3::json from chain c where k.org_id = $1 and k.key_id = c.key_id returning k.key_id`,
    [org_id, key_id, jsonOrNull(rate_limits)],
  );
  return rows.length > 0;
}

export async function isRotationOf(
  query: Query,
  org_id: string,
  key_ids: readonly string[],
  lineage_id: string | null,
): Promise<boolean> {
  const rows = await query(
    "select from api_keys where org_id = $1 and key_id = any($2::text[]) and lineage_id = $3 limit 1",
    [org_id, key_ids, lineage_id],
  );
  return rows.length > 0;
}

export async function readKeyLineage(query: Query, org_id: string, key_id: string): Promise<string | undefined> {
  const [row] = await query<{ lineage_id: string }>(
    "select lineage_id from api_keys where org_id = $1 and key_id = $2",
    [org_id, key_id],
  );
  return row?.lineage_id;
}

/** Returns the newest 100 keys of the key's rotation chain. */
export async function readRotations(query: Query, org_id: string, key_id: string): Promise<string[]> {
  const rows = await query<{ key_id: string }>(
    `select key_id from api_keys where org_id = $1
       and lineage_id = (select lineage_id from api_keys where org_id = $1 and key_id = $2)
     order by key_id desc limit 100`,
    [org_id, key_id],
  );
  return rows.map((row) => row.key_id);
}

/** Counts the other valid admin keys. With none, no other caller could create a key. */
export async function countOtherAdmins(query: Query, org_id: string, key_id: string): Promise<number> {
  const [row] = await query<{ count: number }>(
    `select count(*) as count from api_keys where org_id = $1 and key_id <> $2 and role = 'admin' and scope = 'org'
       and revoked_at is null and expires_at > clock_timestamp()`,
    [org_id, key_id],
  );
  return row?.count ?? 0;
}

/**
 * Notes the minutes of last use: org_id, key ids, RFC 3339 minutes, whether they submitted. The latest wins, and none
 * is before the key's creation. Locks in the order of ids, because several nodes note the same keys at once.
 */
export const noteKeyUses = {
  name: "note_key_uses",
  text: `with used as materialized (
      select k.key_id, greatest(u.used_at, k.created_at) as used_at, u.submits
      from unnest($2::text[], $3::timestamptz[], $4::boolean[]) as u(key_id, used_at, submits)
      join api_keys k on k.org_id = $1 and k.key_id = u.key_id
      where k.last_used_at is null or k.last_used_at < u.used_at
        or (u.submits and (k.last_submitted_at is null or k.last_submitted_at < u.used_at))
      order by k.key_id for update of k)
    update api_keys k set last_used_at = greatest(k.last_used_at, u.used_at),
      last_submitted_at = case when u.submits then greatest(k.last_submitted_at, u.used_at) else k.last_submitted_at end
    from used u where k.org_id = $1 and k.key_id = u.key_id`,
} as const;

/**
 * Returns a rotation chain (or a person's user_id), its creator, the creator's creator, and so on. Ends, because a
 * creator is older than its key.
 */
export async function readMakers(query: Query, org_id: string, lineage_id: string): Promise<string[]> {
  const rows = await query<{ id: string }>(
    `with recursive makers (id) as (
       select $2::text
       union
       select coalesce(c.lineage_id, k.created_by) from makers m
       join api_keys k on k.org_id = $1 and k.key_id = m.id
       left join api_keys c on c.org_id = $1 and c.key_id = k.created_by
       where k.created_by is not null)
     select id from makers`,
    [org_id, lineage_id],
  );
  return rows.map(({ id }) => id);
}

export interface SubmittingKey {
  readonly key_id: string;
  readonly name: string | null;
  readonly role: Role;
  /** An account, the first key in the chain of creators, or a person named on the command line. */
  readonly person: string;
}

export async function readFirstKey(
  query: Query,
  org_id: string,
  lineage_id: string,
): Promise<SubmittingKey | undefined> {
  const [key] = await query<SubmittingKey>(
    "select key_id, name, role, person from api_keys where org_id = $1 and key_id = $2",
    [org_id, lineage_id],
  );
  return key;
}
