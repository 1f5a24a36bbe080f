/** A creating operation under an optional Idempotency-Key, in one transaction. Source: api.md §2. */
import { canonicalJson, formatTimestampUs, sha256Hex } from "@countersign/core";
import type { Db, Query } from "../../ports.ts";
import type { DecisionRows } from "../../store/commit/commit-writer-rows.ts";
import { type OnceAnswer, once, readIdempotencyKey } from "../../store/rows/idempotency.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "./caller.ts";

/** What makes a repetition the same request: the operation, its key, and everything that shapes the answer. */
export interface IdempotencyTerms {
  readonly operation: string;
  readonly idempotency_key: string | undefined;
  /** Parameters and body; compared by its canonical JSON. */
  readonly request: unknown;
  /** What the caller must be allowed before it hears anything, the first answer to this request included. */
  readonly admit?: (query: Query) => Promise<void>;
  /** `system`: the work reaches beyond the organization, for example to mails. Absent: `tenant`. */
  readonly scope?: "tenant" | "system";
}

/** Who keeps an Idempotency-Key. */
export type IdempotencyOwner = Pick<Caller, "lineage_id" | "actor">;

/**
 * The name under which a caller's Idempotency-Keys for an operation are kept: each chain of rotations has its own, and so
 * has each person. So what is fixed for a chain (environment, role, scope, agent) never crosses with an answer, one
 * reviewer's vote is not taken for another's, and a rotated key still replays what its predecessor was answered.
 * See docs/decisions/0013.
 */
export function ownedOperation(operation: string, { lineage_id, actor }: IdempotencyOwner): string {
  return `${operation} ${lineage_id ?? actor}`;
}

/** Runs `work` once for each key; without a key, once for each call. Faults: idempotency_conflict, and those of `work`. */
export function idempotent<T>(
  runtime: Pick<Runtime, "db" | "clock">,
  caller: Pick<Caller, "org_id"> & IdempotencyOwner,
  terms: IdempotencyTerms,
  work: (query: Query) => Promise<T>,
): Promise<OnceAnswer<T>> {
  const { idempotency_key, request } = terms;
  const operation = ownedOperation(terms.operation, caller);
  const run = async (query: Query): Promise<OnceAnswer<T>> => {
    await terms.admit?.(query);
    if (idempotency_key === undefined) return { response: await work(query), replayed: false };
    const request_sha256 = sha256Hex(canonicalJson(request));
    const created_at = formatTimestampUs(runtime.clock.now_us());
    return once(query, { org_id: caller.org_id, operation, idempotency_key, request_sha256, created_at }, () =>
      work(query),
    );
  };
  return terms.scope === "system" ? runtime.db.system(run) : runtime.db.tenant(caller.org_id, run);
}

/**
 * Whether a submission is answered already, as of now: what no longer finds room is answered again all the same, and the
 * commit finds out with what.
 */
export async function isReplay(db: Db, { org_id, idempotency }: DecisionRows): Promise<boolean> {
  if (idempotency === null) return false;
  return db.tenant(org_id, (query) => readIdempotencyKey(query, { org_id, ...idempotency }));
}
