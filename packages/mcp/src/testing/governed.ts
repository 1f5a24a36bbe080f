/** A governor between a client, a server and a service that the test plays. */
import type { Decision, IntentSubmission } from "@countersign/contract";
import { vi } from "vitest";
import { createGovernor, type GovernorOptions } from "../governor.ts";

type Answering = (submission: IntentSubmission) => Partial<Decision>;

const tools = ["pay", "look", "peek", "other", "send_money"].map((name) => ({ name }));

/**
 * Returns a governor whose service decides by `answering`; by default it approves. The client has listed the tools,
 * unless the test has its own server (`toServer`).
 */
export function governed(answering: Answering = () => ({ outcome: "approve" }), terms: Partial<GovernorOptions> = {}) {
  const toServer: string[] = [];
  const toClient: string[] = [];
  const notes: string[] = [];
  const observed: unknown[] = [];
  const submitted: IntentSubmission[] = [];
  const withdrawn: string[] = [];
  const decided = (given: Partial<Decision>) =>
    ({ intent_id: "int_1", status: "final", escalation_status: null, reasons: [], ...given }) as unknown as Decision;
  const rulings: ((decision: Decision) => void)[] = [];
  const governor = createGovernor({
    client: {
      async submitIntent(submission) {
        submitted.push(submission);
        return { intent_id: "int_1", decision: decided(answering(submission)) };
      },
      getDecision: async () => decided({ outcome: null, status: "pending" }),
      waitForOutcome: (_, signal) =>
        new Promise((resolve, reject) => {
          signal?.throwIfAborted();
          rulings.push(resolve);
          signal?.addEventListener("abort", () => reject(signal.reason));
        }),
      claimIntent: async () => decided({}),
      recordObservation: async (_, observation) => observed.push(observation) as never,
      withdrawEscalation: async (escalation_id) => withdrawn.push(escalation_id) as never,
    },
    ...{
      agent_id: null,
      session_id: "s",
      trust_annotations: false,
      wait_ms: 60_000,
      progress_ms: 60_000,
      withdraws: true,
    },
    toServer: (line) => toServer.push(line),
    toClient: (line) => toClient.push(line),
    note: (text) => notes.push(text),
    ...terms,
  });
  if (terms.toServer === undefined) {
    governor.fromClient(line({ id: "list", method: "tools/list" }));
    governor.fromServer(line({ id: "list", result: { tools } }));
    for (const lines of [toServer, toClient]) lines.length = 0;
  }
  const rule = (given: Partial<Decision>) => rulings.shift()?.(decided(given));
  return { governor, toServer, toClient, notes, observed, submitted, withdrawn, rule };
}

export const line = (message: object) => JSON.stringify({ jsonrpc: "2.0", ...message });
export const callOf = (id: unknown, name: unknown = "pay", given: unknown = { n: 1 }) =>
  line({ id, method: "tools/call", params: { name, arguments: given } });
export const soon = (holds: () => void) => vi.waitFor(holds);
