/** SQL for claims (decision 0036). Every change holds the lock of the organization's head. */
import type { Query } from "../../ports.ts";

export interface Claim {
  /** 64 lower-case hex digits. */
  readonly nonce_sha256: string;
  readonly actor: string;
  /** Null: open mode. */
  readonly lineage_id: string | null;
  /** By the database's clock, RFC 3339. */
  readonly claimed_at: string;
}

export async function readClaim(query: Query, org_id: string, intent_id: string): Promise<Claim | undefined> {
  const [row] = await query<Claim>(
    `select encode(nonce_sha256, 'hex') as nonce_sha256, actor, lineage_id, claimed_at from claims
     where org_id = $1 and intent_id = $2`,
    [org_id, intent_id],
  );
  return row;
}

/** Throws if the action is already claimed. `seq`: the number of the claim's audit record. */
export async function insertClaim(
  query: Query,
  org_id: string,
  intent_id: string,
  { nonce_sha256, actor, lineage_id, claimed_at }: Claim,
  seq: number,
): Promise<void> {
  await query(
    `insert into claims (org_id, intent_id, nonce_sha256, actor, lineage_id, claimed_at, seq)
     values ($1, $2, decode($3, 'hex'), $4, $5, $6::timestamptz, $7::bigint)`,
    [org_id, intent_id, nonce_sha256, actor, lineage_id, claimed_at, seq],
  );
}

/** Makes another nonce the current one. */
export async function passClaimOn(
  query: Query,
  org_id: string,
  intent_id: string,
  nonce_sha256: string,
): Promise<void> {
  await query("update claims set nonce_sha256 = decode($3, 'hex') where org_id = $1 and intent_id = $2", [
    org_id,
    intent_id,
    nonce_sha256,
  ]);
}

export async function noteSettled(query: Query, org_id: string, intent_id: string): Promise<void> {
  await query("update claims set unsettled = false where org_id = $1 and intent_id = $2 and unsettled", [
    org_id,
    intent_id,
  ]);
}
