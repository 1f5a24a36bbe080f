/** Up to 50 intents in one request: each decided and committed for itself. Source: contract §8 rule 5, api.md §4. */
import type { BatchAnswer, BatchItem, Problem } from "@countersign/contract";
import { Fault, type FaultDetail, sha256Hex } from "@countersign/core";
import pLimit from "p-limit";
import { modeRefusal } from "../shared/bindings.ts";
import type { Caller } from "../shared/caller.ts";
import { ownedOperation } from "../shared/idempotent.ts";
import { createTurns } from "../shared/turns.ts";
import { presentedToken, requestHash } from "../tokens/present-token.ts";
import { type Deciding, type SubmissionAnswer, type SubmissionRequest, submitIntent } from "./submit-intent.ts";

/** Throws a Fault, as of a body of its own, for what is no item. */
export type ItemCheck = (item: unknown, examine: BatchRequest["examine"]) => asserts item is BatchItem;

/** How a batch came in. */
export interface BatchRequest {
  readonly items: readonly unknown[];
  /** How large the whole of it was. */
  readonly bytes: number;
  /** What must not be kept of an item. */
  readonly examine: (item: unknown) => readonly Problem[];
  readonly mode: "shadow" | undefined;
  /** The Agent-Token header. It counts for every item, as one use. */
  readonly agent_token: string | undefined;
  readonly client_ip: () => string;
}

/** One result, in the place of its item: the answer, or why there is none: a Fault, or what else was thrown. */
export type BatchResult =
  | { readonly success: true; readonly answer: SubmissionAnswer }
  | { readonly success: false; readonly error: unknown };

/**
 * Items of all batches that are on their way at once. As many as the commit writer has in flight at most, three statements
 * of 64: more would not be committed sooner, only kept in memory longer (64 batches of 50 at once spent 27 % of the
 * processor's time collecting garbage), and larger statements only hold up the event loop (three of 128 took as long for a
 * decision, and the loop's 99th percentile was 20 ms in place of 11). First come, first served, so an item's predecessor is
 * always on its way before it.
 */
const undecided = pLimit(192);

/**
 * A commit makes room for 64 items at once. With all of them in one turn of the event loop whoever came meanwhile waited for 20 ms
 * (99th percentile; 8 with 16 a turn, 11 with 32, and about as many decisions a second).
 */
const handOn = createTurns(16);

/**
 * Decides every item; results stand in the order of the items and a bad item fails alone, its places told as those of the
 * whole body. A key or session that stops being valid fails the items that are not decided yet, and the request only where
 * none is: what was decided has taken quota, spent overrides and opened reviews, so its submitter is told. Faults: the 401 faults,
 * forbidden (a key that forbids shadow).
 */
export async function submitBatch(
  runtime: Deciding,
  caller: Caller,
  { items, bytes, examine, mode, agent_token, client_ip }: BatchRequest,
  checkItem: ItemCheck,
): Promise<BatchResult[]> {
  const refusal = modeRefusal(caller, mode);
  if (refusal !== null) throw refusal;
  const presented = presentedToken(runtime, caller.org_id, agent_token, batchHash(runtime, caller, items));
  // Decided side by side, committed in order: where a quota ends, it is the last items that fail. What is decided again
  // comes when it is ready.
  const { source } = await runtime.orgStates.get(caller.org_id);
  const places = source === null ? undecided : runtime.pulls.places(caller.org_id);
  let come = Promise.resolve();
  const results = await Promise.all(
    items.map((item, index) => {
      const before = come;
      let over = (): void => undefined;
      come = new Promise((resolve) => {
        over = resolve;
      });
      return places(async () => {
        await new Promise<void>((go) => handOn(go, bytes / items.length, caller.org_id));
        return submitItem(item, index, { come: before, over });
      });
    }),
  );
  const refusals = results.flatMap((result) => (result.success ? [] : [result.error]));
  const over = refusals.find(isOfCaller);
  if (over !== undefined && refusals.length === results.length) throw over;
  return results;

  async function submitItem(
    item: unknown,
    index: number,
    turn: SubmissionRequest["turn"] & object,
  ): Promise<BatchResult> {
    try {
      checkItem(item, examine);
      const { idempotency_key } = item;
      const submission = idempotency_key === undefined ? item : withoutKey(item);
      const request = { submission, mode, idempotency_key, agent_token: presented, client_ip };
      const in_batch = { ...request, batch_size: items.length, turn };
      return { success: true, answer: await submitIntent(runtime, caller, in_batch) };
    } catch (error) {
      // What was answered went to the commit, which said so.
      void turn.come.then(turn.over);
      return {
        success: false,
        error: error instanceof Fault && !isOfCaller(error) ? faultOfItem(error, index) : error,
      };
    }
  }
}

/** Returns the hash by which a token knows the repetitions of a batch: the same items, each with an Idempotency-Key. */
function batchHash(runtime: Pick<Deciding, "ids">, caller: Caller, items: readonly unknown[]): string {
  const is_repeatable = items.every((item) => typeof (item as Partial<BatchItem> | null)?.idempotency_key === "string");
  if (!is_repeatable) return requestHash(runtime, null);
  const request_sha256 = sha256Hex(JSON.stringify(items));
  return requestHash(runtime, {
    operation: ownedOperation("submit_batch", caller),
    idempotency_key: "",
    request_sha256,
  });
}

/** The submission alone: its copy is a µs that items without a key need not take. */
function withoutKey({ idempotency_key: _, ...submission }: BatchItem): SubmissionRequest["submission"] {
  return submission;
}

/** The caller's key ended, or its session or open mode (`missing_api_key`: there is nothing left to be let in with). */
function isOfCaller(error: unknown): boolean {
  return error instanceof Fault && ["invalid_api_key", "expired_api_key", "missing_api_key"].includes(error.code);
}

/** The fault of an item, with its places as those of the whole body. */
function faultOfItem({ code, details, cause }: Fault, index: number): Fault {
  const inBody = (detail: FaultDetail) =>
    "path" in detail ? { ...detail, path: `/intents/${index}${detail["path"]}` } : detail;
  return new Fault(code, { details: details.map(inBody), cause });
}

/** Counts of a batch's results. */
export function batchTotals(results: readonly BatchResult[]): Pick<BatchAnswer, "total" | "succeeded" | "failed"> {
  const succeeded = results.filter((result) => result.success).length;
  return { total: results.length, succeeded, failed: results.length - succeeded };
}
