/** Idempotency keys, except those of submissions, which `commit_decisions` handles. */
import { Fault } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { byOrganization } from "./by-organization.ts";

export interface IdempotentRequest {
  readonly org_id: string;
  /** The operation and owner of the key. */
  readonly operation: string;
  readonly idempotency_key: string;
  /** 64 lower-case hex digits over everything that determines the answer. */
  readonly request_sha256: string;
  /** RFC 3339 UTC. */
  readonly created_at: string;
}

/** Replaces an answer whose content was erased. */
export const erased_answer = '{"erased":true}';

export interface OnceAnswer<T> {
  readonly response: T;
  readonly replayed: boolean;
}

export async function readIdempotencyKey(
  query: Query,
  { org_id, operation, idempotency_key }: Pick<IdempotentRequest, "org_id" | "operation" | "idempotency_key">,
): Promise<boolean> {
  const rows = await query(
    "select from idempotency_keys where org_id = $1 and operation = $2 and idempotency_key = $3",
    [org_id, operation, idempotency_key],
  );
  return rows.length > 0;
}

/** Returns the intent that was submitted with this key; null: none. */
export async function readSubmittedIntent(
  query: Query,
  { org_id, operation, idempotency_key }: KeyRow,
): Promise<string | null> {
  const [row] = await query<{ intent_id: string | null }>(
    "select intent_id from idempotency_keys where org_id = $1 and operation = $2 and idempotency_key = $3",
    [org_id, operation, idempotency_key],
  );
  return row?.intent_id ?? null;
}

/**
 * Runs `work` for the first request with this key, and returns its answer for every later one. Call it in the
 * transaction of `work`, before any change and before locking the head. A second request waits until the first commits
 * (then it replays) or fails (then it is the first). `kept` returns the response to store, without secrets.
 *
 * Faults: idempotency_conflict (same key, another request), erased (the answer).
 */
export async function once<T>(
  query: Query,
  request: IdempotentRequest,
  work: () => Promise<T>,
  kept: (response: T) => T = (response) => response,
): Promise<OnceAnswer<T>> {
  const key = [request.org_id, request.operation, request.idempotency_key];
  for (;;) {
    const inserted = await query(
      `insert into idempotency_keys (org_id, operation, idempotency_key, request_sha256, created_at)
       values ($1, $2, $3, decode($4, 'hex'), $5::timestamptz) on conflict (org_id, operation, idempotency_key) do nothing
       returning true as inserted`,
      [...key, request.request_sha256, request.created_at],
    );
    if (inserted.length > 0) {
      const response = await work();
      await storeAnswer(query, request, kept(response));
      return { response, replayed: false };
    }
    const [first] = await query<{ request_sha256: string; response: string }>(
      `select encode(request_sha256, 'hex') as request_sha256, response::text as response from idempotency_keys
       where org_id = $1 and operation = $2 and idempotency_key = $3`,
      key,
    );
    // The row was deleted for its age meanwhile, so this request is the first.
    if (first === undefined) continue;
    if (first.request_sha256 !== request.request_sha256) throw new Fault("idempotency_conflict");
    if (first.response === erased_answer) throw new Fault("erased");
    return { response: JSON.parse(first.response) as T, replayed: true };
  }
}

/** Returns the keys of an operation with their intents, oldest first. */
export function readSubmittedIntents(
  query: Query,
  org_id: string,
  operation: string,
): Promise<{ idempotency_key: string; intent_id: string }[]> {
  return query<{ idempotency_key: string; intent_id: string }>(
    `select idempotency_key, intent_id from idempotency_keys
     where org_id = $1 and operation = $2 and intent_id is not null order by intent_id`,
    [org_id, operation],
  );
}

type KeyRow = Pick<IdempotentRequest, "org_id" | "operation" | "idempotency_key">;

export async function isYoung(
  query: Query,
  { org_id, operation, idempotency_key }: KeyRow,
  seconds_max: number,
): Promise<boolean> {
  const rows = await query(
    `select from idempotency_keys where org_id = $1 and operation = $2 and idempotency_key = $3
       and created_at >= clock_timestamp() - make_interval(secs => $4::integer)`,
    [org_id, operation, idempotency_key, seconds_max],
  );
  return rows.length > 0;
}

export async function storeAnswer(
  query: Query,
  { org_id, operation, idempotency_key }: KeyRow,
  response: unknown,
): Promise<void> {
  await query(
    "update idempotency_keys set response = $4::json where org_id = $1 and operation = $2 and idempotency_key = $3",
    [org_id, operation, idempotency_key, JSON.stringify(response)],
  );
}

const delete_rows = 5_000;

/**
 * Deletes up to 5,000 old keys, oldest first. Uses the database's clock, because a fast node would delete keys early,
 * and actions could be repeated. System scope.
 */
export async function deleteOldIdempotencyKeys(query: Query, kept_hours: number): Promise<number> {
  const old = await query<{ org_id: string; operation: string; idempotency_key: string }>(
    `select org_id, operation, idempotency_key from idempotency_keys
     where created_at < now() - make_interval(hours => $1::integer) order by created_at limit ${delete_rows}`,
    [kept_hours],
  );
  let deleted = 0;
  for (const [org_id, keys] of byOrganization(old)) {
    const rows = await query(
      `delete from idempotency_keys k using unnest($2::text[], $3::text[]) as o(operation, idempotency_key)
       where k.org_id = $1 and k.operation = o.operation and k.idempotency_key = o.idempotency_key
         and k.created_at < now() - make_interval(hours => $4::integer) returning true as deleted`,
      [org_id, keys.map(({ operation }) => operation), keys.map((key) => key.idempotency_key), kept_hours],
    );
    deleted += rows.length;
  }
  return deleted;
}
