import type { Verdict } from "@countersign/contract";
import type { RecordedCall } from "./recording.ts";
import { type CallResult, type SubmitContext, submitCalls } from "./submit.ts";

export interface ReplayOrder {
  readonly calls: AsyncIterable<RecordedCall>;
  /** Calls in one request, 1 to 50; 1 submits singly. */
  readonly batch: number;
  /** Requests in flight at once. */
  readonly concurrency: number;
  /** Called for every call in the order of the recording. */
  readonly onResult: (result: CallResult) => void;
}

/** Latencies are per request, in milliseconds. */
export interface ReplayResult {
  readonly verdicts: Readonly<Record<Verdict, number>>;
  readonly failed: number;
  /** Failed calls by error code, with one message each. */
  readonly failures: Readonly<Record<string, { count: number; example: string }>>;
  readonly requests: number;
  readonly latency: {
    readonly p50_ms: number;
    readonly p95_ms: number;
    readonly p99_ms: number;
    readonly max_ms: number;
  };
}

/**
 * Runs the replay until it ends or `context.signal` fires. The result then covers the calls before the first without an
 * answer. Throws the first `CommandFailed` of any request, after the other requests ended.
 */
export async function replay(
  order: ReplayOrder,
  context: Omit<SubmitContext, "answered" | "isReached">,
): Promise<ReplayResult> {
  const verdicts: Record<Verdict, number> = { approve: 0, approve_modified: 0, escalate: 0, block: 0 };
  const failures: Record<string, { count: number; example: string }> = {};
  const latencies: number[] = [];
  let failed = 0;

  const inOrder = releaseInOrder((result) => {
    if (result.verdict !== null) verdicts[result.verdict] += 1;
    else {
      failed += 1;
      const failure = failures[result.code] ?? { count: 0, example: `call ${result.call}: ${result.message}` };
      failures[result.code] = { ...failure, count: failure.count + 1 };
    }
    order.onResult(result);
  });
  const batches = inBatches(order.calls, order.batch);
  const answered = (latency_ms: number) => void latencies.push(latency_ms);
  const isReached = () => latencies.length > 0;

  const broken = new AbortController();
  const signal = AbortSignal.any([context.signal, broken.signal]);
  const worker = async () => {
    try {
      for (let next = await batches.next(); !next.done && !signal.aborted; next = await batches.next()) {
        const { position, calls } = next.value;
        inOrder(position, await submitCalls(calls, order.batch === 1, { ...context, signal, answered, isReached }));
      }
    } catch (error) {
      if (!signal.aborted) broken.abort(error);
    }
  };
  await Promise.all(Array.from({ length: order.concurrency }, worker));
  if (broken.signal.aborted) throw broken.signal.reason;

  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.max(0, Math.ceil(share * latencies.length) - 1)] ?? 0;
  const latency = { p50_ms: at(0.5), p95_ms: at(0.95), p99_ms: at(0.99), max_ms: at(1) };
  return { verdicts, failed, failures, requests: latencies.length, latency };
}

async function* inBatches(calls: AsyncIterable<RecordedCall>, size: number) {
  let batch: RecordedCall[] = [];
  let position = 0;
  for await (const call of calls) {
    batch.push(call);
    if (batch.length < size) continue;
    yield { position, calls: batch };
    batch = [];
    position += 1;
  }
  if (batch.length > 0) yield { position, calls: batch };
}

/** Holds back each result until all earlier ones are released. */
function releaseInOrder(
  give: (result: CallResult) => void,
): (position: number, results: readonly CallResult[]) => void {
  const held = new Map<number, readonly CallResult[]>();
  let next = 0;
  return (position, results) => {
    held.set(position, results);
    for (let ready = held.get(next); ready !== undefined; ready = held.get(next)) {
      held.delete(next);
      next += 1;
      ready.forEach(give);
    }
  };
}
