import { type BatchAnswer, limits, type Verdict } from "@countersign/contract";
import { ApiError, type Client, ConnectionError } from "@countersign/sdk";
import { CommandFailed } from "../command-failed.ts";
import { refusalText, start_hint, strangerText } from "../service.ts";
import type { RecordedCall } from "./recording.ts";

export type CallResult =
  | { readonly call: number; readonly verdict: Verdict }
  | { readonly call: number; readonly verdict: null; readonly code: string; readonly message: string };

export interface SubmitContext {
  readonly client: Client;
  readonly mode: "shadow" | undefined;
  readonly signal: AbortSignal;
  /** Waits because the service asked (`rate_limit`) or before a retry (`retry`). */
  pause(wait_ms: number, why: "rate_limit" | "retry"): Promise<void>;
  /** Records the latency of one request, from its first byte to the answer's last. */
  answered(latency_ms: number): void;
  /** True after the first answer. From then on a missing answer is an outage, not a wrong address. */
  isReached(): boolean;
}

type Item = RecordedCall & { readonly idempotency_key: string };

const tries_max = 5;

/**
 * Submits calls until each has an answer. A call keeps its idempotency key, so a retry never decides twice. Waits for
 * every 429; tries 503 and broken connections five times; splits a request that is too large in two. Throws
 * `CommandFailed` if no retry helps: no service, or no valid key.
 */
export async function submitCalls(
  calls: readonly RecordedCall[],
  single: boolean,
  context: SubmitContext,
): Promise<CallResult[]> {
  const items = calls.map((call) => ({ ...call, idempotency_key: crypto.randomUUID() }));
  return submitItems(items, single, context);
}

async function submitItems(items: readonly Item[], single: boolean, context: SubmitContext): Promise<CallResult[]> {
  let open = items;
  const results = new Map<number, CallResult>();
  for (let tries = 1; open.length > 0; tries += 1) {
    const answers = await send(open, single, context);
    if (answers === "rate_limited") {
      tries -= 1;
      continue;
    }
    if (answers === "too_large") {
      const half = Math.ceil(open.length / 2);
      for (const part of [open.slice(0, half), open.slice(half)])
        for (const result of await submitItems(part, single, context)) results.set(result.call, result);
      break;
    }
    open.forEach((item, n) => void results.set(item.call, answers[n] ?? missing(item)));
    open = open.filter((item) => isWorthRepeating(results.get(item.call)));
    const silent = answers.find((answer) => answer.verdict === null && answer.code === "no_answer");
    if (silent?.verdict === null && (tries === tries_max || !context.isReached())) {
      throw new CommandFailed(`${silent.message}\n${start_hint}`);
    }
    if (tries === tries_max) break;
    if (open.length > 0) await context.pause(250 * 2 ** tries, "retry");
  }
  return items.map(({ call }) => results.get(call) as CallResult);
}

function isWorthRepeating(result: CallResult | undefined): boolean {
  return result?.verdict === null && ["overloaded", "unavailable", "no_answer"].includes(result.code);
}

const missing = ({ call }: Item): CallResult => ({
  call,
  verdict: null,
  code: "no_result",
  message: "the answer left out this call",
});

async function send(
  items: readonly Item[],
  single: boolean,
  context: SubmitContext,
): Promise<CallResult[] | "rate_limited" | "too_large"> {
  const { client, mode, signal } = context;
  const from_ms = performance.now();
  try {
    const [first] = items;
    if (single && first !== undefined) {
      const { decision } = await client.submitIntent(first.body, {
        idempotency_key: first.idempotency_key,
        mode,
        signal,
      });
      context.answered(performance.now() - from_ms);
      if (decision === undefined) throw new CommandFailed(strangerText(""));
      return [{ call: first.call, verdict: decision.verdict }];
    }
    const bodies = items.map(({ body, idempotency_key }) => ({ ...body, idempotency_key }));
    const { results } = await client.submitIntentBatch(bodies, { mode, signal });
    context.answered(performance.now() - from_ms);
    if (!Array.isArray(results)) throw new CommandFailed(strangerText(""));
    return items.map((item, n) => ofBatch(item, results[n]));
  } catch (error) {
    if (error instanceof ApiError && error.status === 429) {
      // Only a proxy asks for more than one window. Timers ignore waits of more than 24 days.
      await context.pause(Math.min(error.retry_after_seconds || 1, limits.rate_window_seconds) * 1000, "rate_limit");
      return "rate_limited";
    }
    // The service decided nothing.
    if (error instanceof ApiError && error.code === "payload_too_large" && items.length > 1) return "too_large";
    return items.map(({ call }) => ({ call, verdict: null, ...reasonOf(error) }));
  }
}

function ofBatch(item: Item, result: BatchAnswer["results"][number] | undefined): CallResult {
  if (result === undefined) return missing(item);
  if (result.success) return { call: item.call, verdict: result.decision.verdict };
  return { call: item.call, verdict: null, code: result.error.code, message: result.error.message };
}

function reasonOf(error: unknown): { code: string; message: string } {
  if (error instanceof ConnectionError) return { code: "no_answer", message: error.message };
  if (!(error instanceof ApiError)) throw error;
  if (error.status === 401 || error.status === 403) {
    throw new CommandFailed(`${error.code}: ${refusalText(error)}`);
  }
  if (error.status === 404 || error.code.startsWith("http_")) {
    throw new CommandFailed(strangerText(`${error.status} ${error.message}`));
  }
  return { code: error.code, message: error.message };
}
