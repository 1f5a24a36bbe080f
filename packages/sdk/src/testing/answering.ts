import type { Decision, IntentSubmission } from "@countersign/contract";
import { vi } from "vitest";

export const decided = (given: Partial<Decision>) =>
  ({ intent_id: "int_1", status: "final", escalation_status: null, reasons: [], ...given }) as unknown as Decision;

/** Answers a submission with `first`, and waiting calls with `ruling`. */
export function answering(first: Partial<Decision>, ruling: Partial<Decision> = {}) {
  const submitted: IntentSubmission[] = [];
  const observed: unknown[] = [];
  const withdrawn: string[] = [];
  const client = {
    submitIntent: async (submission: IntentSubmission) => {
      submitted.push(submission);
      return { intent_id: "int_1", decision: decided(first) };
    },
    waitForOutcome: vi.fn(async (_: string, signal?: AbortSignal) => {
      signal?.throwIfAborted();
      return decided(ruling);
    }),
    claimIntent: vi.fn(async (_intent_id: string, _nonce: string) => decided(first)),
    recordObservation: async (_: string, observation: unknown) => observed.push(observation) as never,
    withdrawEscalation: async (escalation_id: string) => withdrawn.push(escalation_id) as never,
  };
  return { client, submitted, observed, withdrawn };
}
