import type { AccessDecision, AccessEvaluation, EvaluationsSemantic } from "@countersign/contract";
import { authzenError, Fault } from "@countersign/core";
import pLimit from "p-limit";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { type AccessRequest, evaluateAccess } from "./evaluate-access.ts";

export interface ListRequest extends Pick<AccessRequest, "membrane_id" | "client_ip"> {
  /** With their defaults, unchecked. */
  readonly evaluations: readonly unknown[];
  readonly semantic: EvaluationsSemantic;
  /** Returns an evaluation of the right shape. Faults: invalid_request. */
  readonly check: (evaluation: unknown) => AccessEvaluation;
}

/** Evaluations of all lists at the same time. They start in order, so an evaluation's predecessor started before it. */
const evaluating = pLimit(16);

/**
 * Evaluates a list in order. The short-circuit semantics stop after the first `false` or `true`. An evaluation that
 * cannot be decided is `false`. Faults: the 401 faults.
 */
export async function evaluateList(runtime: Runtime, caller: Caller, request: ListRequest): Promise<AccessDecision[]> {
  const { evaluations, semantic, check, membrane_id, client_ip } = request;
  const evaluate = async (given: unknown, turn?: AccessRequest["turn"] & object): Promise<AccessDecision> => {
    try {
      const evaluation = check(given);
      const more = { membrane_id, client_ip, batch_size: evaluations.length, ...(turn !== undefined && { turn }) };
      return await evaluateAccess(runtime, caller, { evaluation, ...more });
    } catch (error) {
      if (!(error instanceof Fault) || isOfCaller(error)) throw error;
      return authzenError(error);
    }
  };
  if (semantic === "execute_all") return inOrder(evaluations, evaluate);
  const ends_with = semantic === "permit_on_first_permit";
  const answers: AccessDecision[] = [];
  for (const each of evaluations) {
    const answer = await evaluate(each);
    answers.push(answer);
    if (answer.decision === ends_with) break;
  }
  return answers;
}

/** Evaluates concurrently, and commits in order, so that an exhausted limit blocks the last evaluations. */
function inOrder(
  evaluations: readonly unknown[],
  evaluate: (given: unknown, turn: AccessRequest["turn"] & object) => Promise<AccessDecision>,
): Promise<AccessDecision[]> {
  let come = Promise.resolve();
  return Promise.all(
    evaluations.map((each) => {
      const before = come;
      let over = (): void => undefined;
      come = new Promise((resolve) => {
        over = resolve;
      });
      return evaluating(() => evaluate(each, { come: before, over }).finally(() => void before.then(over)));
    }),
  );
}

/** The key, the session or open mode ended, so nothing more is decided. */
function isOfCaller({ code }: Fault): boolean {
  return code === "invalid_api_key" || code === "expired_api_key" || code === "missing_api_key";
}
