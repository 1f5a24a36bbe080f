import { canonicalJson, formatTimestampUs, sha256Hex } from "@countersign/core";
import type { Db, Query } from "../../ports.ts";
import type { DecisionRows } from "../../store/commit/commit-writer-rows.ts";
import { type OnceAnswer, once, readIdempotencyKey } from "../../store/rows/idempotency.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "./caller.ts";

export interface IdempotencyTerms {
  readonly operation: string;
  readonly idempotency_key: string | undefined;
  readonly request: unknown;
  /** Checks permission before any answer, including a replay. */
  readonly admit?: (query: Query) => Promise<void>;
  /** `system`: the work also writes rows outside the organization, such as mails. Absent: `tenant`. */
  readonly scope?: "tenant" | "system";
}

export type IdempotencyOwner = Pick<Caller, "lineage_id" | "actor">;

/**
 * Returns the name under which a caller's Idempotency-Keys for an operation are stored. Each chain of rotations and
 * each person has its own, so no answer reaches another caller. See docs/decisions/0013.
 */
export function ownedOperation(operation: string, { lineage_id, actor }: IdempotencyOwner): string {
  return `${operation} ${lineage_id ?? actor}`;
}

/**
 * Runs `work` once per key; without a key, once per call. `kept` returns the answer for repetitions, without one-time
 * secrets. Faults: idempotency_conflict, and those of `work`.
 */
export function idempotent<T>(
  runtime: Pick<Runtime, "db" | "clock">,
  caller: Pick<Caller, "org_id"> & IdempotencyOwner,
  terms: IdempotencyTerms,
  work: (query: Query) => Promise<T>,
  kept?: (response: T) => T,
): Promise<OnceAnswer<T>> {
  const { idempotency_key, request } = terms;
  const operation = ownedOperation(terms.operation, caller);
  const run = async (query: Query): Promise<OnceAnswer<T>> => {
    await terms.admit?.(query);
    if (idempotency_key === undefined) return { response: await work(query), replayed: false };
    const request_sha256 = sha256Hex(canonicalJson(request));
    const created_at = formatTimestampUs(runtime.clock.now_us());
    const asked = { org_id: caller.org_id, operation, idempotency_key, request_sha256, created_at };
    return once(query, asked, () => work(query), kept);
  };
  return terms.scope === "system" ? runtime.db.system(run) : runtime.db.tenant(caller.org_id, run);
}

/** Returns true if a submission was already answered. A full queue must not refuse a replay. */
export async function isReplay(
  db: Db,
  { org_id, idempotency }: Pick<DecisionRows, "org_id" | "idempotency">,
): Promise<boolean> {
  if (idempotency === null) return false;
  return db.tenant(org_id, (query) => readIdempotencyKey(query, { org_id, ...idempotency }));
}
