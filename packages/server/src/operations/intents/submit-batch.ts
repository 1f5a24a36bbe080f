/** Submits up to 50 intents in one request; each is decided and committed separately. Source: spec §8 rule 5. */
import type { BatchAnswer, BatchItem, Problem } from "@countersign/contract";
import { Fault, type FaultDetail, sha256Hex } from "@countersign/core";
import pLimit from "p-limit";
import { modeRefusal } from "../shared/bindings.ts";
import type { Caller } from "../shared/caller.ts";
import { currentState } from "../shared/current-rules.ts";
import { ownedOperation } from "../shared/idempotent.ts";
import { createTurns } from "../shared/turns.ts";
import { presentedToken, requestHash } from "../tokens/present-token.ts";
import { type Deciding, type SubmissionAnswer, type SubmissionRequest, submitIntent } from "./submit-intent.ts";

export type ItemCheck = (item: unknown, examine: BatchRequest["examine"]) => asserts item is BatchItem;

export interface BatchRequest {
  readonly items: readonly unknown[];
  readonly bytes: number;
  readonly examine: (item: unknown) => readonly Problem[];
  readonly mode: "shadow" | undefined;
  /** The Agent-Token header. It counts as one use for the whole batch. */
  readonly agent_token: string | undefined;
  readonly client_ip: () => string;
}

export type BatchResult =
  | { readonly success: true; readonly answer: SubmissionAnswer }
  | { readonly success: false; readonly error: unknown };

/**
 * Concurrent items of all batches: as many as the commit writer can have in flight. More would only use memory. Items
 * start in order, so an item's predecessor always started before it.
 */
const undecided = pLimit(192);

/** Items per turn of the event loop. Running all 64 of a commit in one turn delayed other requests by 20 ms (p99). */
const handOn = createTurns(16);

/**
 * Decides every item and returns results in order. A bad item fails alone, with paths of the whole body. If the key or
 * session ends, undecided items fail; the request fails only if no item was decided. Faults: the 401 faults, forbidden
 * (a key that forbids shadow).
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
  // Items are decided concurrently and committed in order, so an exhausted quota fails the last items. Items that are decided again
  // because the rules changed may lose their places, so the batch begins with the current rules.
  const { source } = await currentState(runtime, caller.org_id);
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
      // A failed item releases the next one here. Other items do so at their commit.
      void turn.come.then(turn.over);
      return {
        success: false,
        error: error instanceof Fault && !isOfCaller(error) ? faultOfItem(error, index) : error,
      };
    }
  }
}

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

function withoutKey({ idempotency_key: _, ...submission }: BatchItem): SubmissionRequest["submission"] {
  return submission;
}

/** Returns true if the caller's key, session or open mode ended (`missing_api_key`: open mode). */
function isOfCaller(error: unknown): boolean {
  return error instanceof Fault && ["invalid_api_key", "expired_api_key", "missing_api_key"].includes(error.code);
}

function faultOfItem({ code, details, cause }: Fault, index: number): Fault {
  const inBody = (detail: FaultDetail) =>
    "path" in detail ? { ...detail, path: `/intents/${index}${detail["path"]}` } : detail;
  return new Fault(code, { details: details.map(inBody), cause });
}

export function batchTotals(results: readonly BatchResult[]): Pick<BatchAnswer, "total" | "succeeded" | "failed"> {
  const succeeded = results.filter((result) => result.success).length;
  return { total: results.length, succeeded, failed: results.length - succeeded };
}
