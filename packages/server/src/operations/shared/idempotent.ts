/** Runs a creating operation in one transaction, under an optional Idempotency-Key. */
import { canonicalJson, formatTimestampUs, sha256Hex } from "@countersign/core";
import type { Db, Query } from "../../ports.ts";
import type { DecisionRows } from "../../store/commit/commit-writer-rows.ts";
import { type OnceAnswer, once, readIdempotencyKey } from "../../store/rows/idempotency.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "./caller.ts";

/** What identifies a request, so that a repetition gets the first answer. */
export interface IdempotencyTerms {
  readonly operation: string;
  readonly idempotency_key: string | undefined;
  /** Parameters and body; compared as canonical JSON. */
  readonly request: unknown;
  /** Checks permission before any answer, including the replay of the first answer. */
  readonly admit?: (query: Query) => Promise<void>;
  /** `system`: the work also touches rows outside the organization, for example mails. Absent: `tenant`. */
  readonly scope?: "tenant" | "system";
}

/** The owner of an Idempotency-Key. */
export type IdempotencyOwner = Pick<Caller, "lineage_id" | "actor">;

/**
 * Returns the name under which a caller's Idempotency-Keys for an operation are stored. Each chain of rotations and each
 * person has its own. So an answer never reaches a caller of another environment, role, scope or agent; one reviewer's vote
 * is not taken for another's; and a rotated key still replays the answers to its predecessor. See docs/decisions/0013.
 */
export function ownedOperation(operation: string, { lineage_id, actor }: IdempotencyOwner): string {
  return `${operation} ${lineage_id ?? actor}`;
}

/**
 * Runs `work` once for each key; without a key, once for each call. `kept` returns the answer that repetitions get: without the
 * secrets that are shown once only. Faults: idempotency_conflict, and those of `work`.
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

/** Whether a submission was answered already. A full queue must not refuse a replay, whose answer the commit finds. */
export async function isReplay(
  db: Db,
  { org_id, idempotency }: Pick<DecisionRows, "org_id" | "idempotency">,
): Promise<boolean> {
  if (idempotency === null) return false;
  return db.tenant(org_id, (query) => readIdempotencyKey(query, { org_id, ...idempotency }));
}
