/** A service in memory with the promises of decisions 0036 and 0037: one claim, which is passed on by its nonce. */
import type { Decision, IntentSubmission, ObservationInput } from "@countersign/contract";
import { ApiError } from "@countersign/sdk";
import type { GovernorOptions } from "../governor.ts";

export type Answering = (submission: IntentSubmission) => Partial<Decision>;

/** Returns a service that decides by `answering`; by default it approves. */
export function fakeService(answering: Answering = () => ({ outcome: "approve" })) {
  const submitted: IntentSubmission[] = [];
  const decisions = new Map<string, Decision>();
  const nonces = new Map<string, string>();
  const observed: (ObservationInput & { readonly intent_id: string })[] = [];
  const withdrawn: string[] = [];
  const waiters = new Set<{ readonly intent_id: string; readonly resolve: (decision: Decision) => void }>();
  const decisionOn = (intent_id: string) => {
    const decision = decisions.get(intent_id);
    if (decision === undefined) throw refusal(404, "not_found");
    return decision;
  };
  const client: GovernorOptions["client"] = {
    async submitIntent(submission) {
      submitted.push(submission);
      const intent_id = `int_${submitted.length}`;
      const made = { intent_id, status: "final", escalation_status: null, reasons: [] };
      decisions.set(intent_id, { ...made, ...answering(submission) } as unknown as Decision);
      return { intent_id, decision: decisionOn(intent_id) };
    },
    getDecision: async (intent_id) => decisionOn(intent_id),
    waitForOutcome: (intent_id, signal) =>
      new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        if (decisionOn(intent_id).status === "final") return resolve(decisionOn(intent_id));
        const waiter = { intent_id, resolve };
        waiters.add(waiter);
        signal?.addEventListener("abort", () => {
          waiters.delete(waiter);
          reject(signal.reason);
        });
      }),
    async claimIntent(intent_id, nonce, next_nonce) {
      const decision = decisionOn(intent_id);
      const current = nonces.get(intent_id);
      const is_over = observed.some((each) => each.intent_id === intent_id);
      if (current === (next_nonce ?? nonce)) return decision;
      if ((next_nonce === undefined ? current !== undefined : current !== nonce) || is_over)
        throw refusal(409, "already_claimed");
      nonces.set(intent_id, next_nonce ?? nonce);
      return decision;
    },
    recordObservation: async (intent_id, observation) => observed.push({ intent_id, ...observation }) as never,
    withdrawEscalation: async (escalation_id) => withdrawn.push(escalation_id) as never,
  };
  /** Rules on an intent, by default on the one that a call has waited for longest, and tells it to all who wait. */
  const rule = (given: Partial<Decision>, intent_id = [...waiters][0]?.intent_id): void => {
    if (intent_id === undefined) return;
    const decision = { ...decisionOn(intent_id), status: "final", ...given } as Decision;
    decisions.set(intent_id, decision);
    for (const waiter of waiters)
      if (waiter.intent_id === intent_id) {
        waiters.delete(waiter);
        waiter.resolve(decision);
      }
  };
  /** The number of calls that wait for people. */
  const waiting = () => waiters.size;
  return { client, submitted, observed, withdrawn, rule, waiting };
}

/** A governor needs these besides a service and its two ends. */
export const governorTerms = {
  ...{ agent_id: null, session_id: "s", trust_annotations: false, withdraws: true },
  ...{ wait_ms: 60_000, progress_ms: 60_000 },
  ...{ console_url: "https://countersign.test", state_secret: "svc_test", now_ms: () => 0 },
};

export function refusal(status: number, code: string): ApiError {
  return new ApiError({ status, code, message: code, details: [], request_id: null, retry_after_seconds: null });
}
