/** Runs an idempotent operation that rests on the caller's key and the organization's rules. */
import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "./caller.ts";
import { type IdempotencyTerms, idempotent } from "./idempotent.ts";
import { type Attempt, attempts_max, stale, staleEachTime, unlessStale } from "./stale.ts";

/**
 * Runs `work` in one transaction under the Idempotency-Key of `terms`. While it is stale, reads key and rules again and repeats
 * the transaction. Faults: idempotency_conflict, unavailable (stale in every attempt), the 401 faults, and those of `work`.
 */
export async function idempotentAttempts<T>(
  runtime: Pick<Runtime, "db" | "clock" | "callers" | "orgStates">,
  caller: Caller,
  terms: IdempotencyTerms,
  work: (attempt: Attempt) => Promise<T>,
): Promise<OnceAnswer<T>> {
  let current = caller;
  for (let attempt = 1; attempt <= attempts_max; attempt += 1) {
    const state = await runtime.orgStates.get(caller.org_id);
    const answer = await unlessStale(
      idempotent(runtime, current, terms, (query) => work({ query, caller: current, state })),
    );
    if (answer !== stale) return answer;
    current = await runtime.callers.reload(current);
  }
  throw staleEachTime();
}
