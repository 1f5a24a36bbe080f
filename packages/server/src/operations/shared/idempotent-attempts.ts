import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "./caller.ts";
import { type IdempotencyTerms, idempotent } from "./idempotent.ts";
import { type Attempt, untilFresh } from "./stale.ts";

/**
 * Runs `work` in one transaction under the Idempotency-Key of `terms`. While it is stale, reloads key and rules and
 * repeats. Faults: idempotency_conflict, unavailable, the 401 faults, and those of `work`.
 */
export async function idempotentAttempts<T>(
  runtime: Pick<Runtime, "db" | "clock" | "callers" | "orgStates">,
  caller: Caller,
  terms: IdempotencyTerms,
  work: (attempt: Attempt) => Promise<T>,
): Promise<OnceAnswer<T>> {
  return untilFresh(runtime, caller, async (current) => {
    const state = await runtime.orgStates.get(caller.org_id);
    return idempotent(runtime, current, terms, (query) => work({ query, caller: current, state }));
  });
}
