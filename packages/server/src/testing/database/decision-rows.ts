import { createHash } from "node:crypto";
import type { Ids } from "../../ports.ts";
import type { CommitWriter, DecisionRows } from "../../store/commit/commit-writer.ts";
import { decisionEntry } from "../../store/commit/commit-writer-rows.ts";

/** Absent fields get ordinary values. */
export interface RowsWanted {
  readonly epochs?: Partial<DecisionRows["epochs"]>;
  readonly mode?: "live" | "shadow" | "test";
  readonly agent_id?: string;
  readonly created_at?: string;
  readonly idempotency_key?: string;
  /** Default: the idempotency key. */
  readonly request?: string;
  readonly escalate?: boolean;
  readonly event?: boolean;
  readonly membrane_id?: string;
  readonly override_id?: string;
  readonly counts?: DecisionRows["counts"];
  /** JSON text. */
  readonly intent?: string;
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

const submitted = {
  agent: { id: "claude-3-5-sonnet-20240620", framework: "agentdojo", session_id: "run-00000" },
  action: {
    type: "payment.transfer",
    verb: "send_money",
    target: { type: "iban", identifier: "GB29NWBK60161331926819" },
  },
  payload: {
    summary: 'Pay the bill "bill-december-2023.txt"',
    content: {
      recipient: "UK12345678901234567890",
      amount: 98.7,
      subject: "Car Rental November 2023",
      date: "2022-01-01",
    },
  },
  estimated_impact: { reversible: false, financial_exposure_usd: 98.7 },
};
const decided_as = { type: "payment.transfer", data_classes: [] };
const intent = JSON.stringify({ submitted, decided_as, attested: false });

const facts = JSON.stringify({
  origins: [{ source: "inline", as_of_us: Date.UTC(2026, 10, 21, 3, 36, 48) * 1_000 }],
  security: {
    values: {
      untrusted_content_in_context: true,
      param_provenance: { recipient: "P", amount: "P-U" },
      side_effect: true,
    },
  },
});

function decisionText(decision_id: string, intent_id: string, agent_id: string, timestamp: string): string {
  return JSON.stringify({
    decision_id,
    intent_id,
    membrane_id: "mem_01KAAAAAAAAAAAAAAAAAAAAAAA",
    agent_id,
    verdict: "approve",
    risk_score: 0.1234,
    risk_contributions: [{ source: "reversible", group: "impact", value: 0.2 }],
    pipeline_mode: "live",
    enforced: true,
    outcome: "approve",
    status: "final",
    reasons: [
      {
        policy_id: "pol_01KAAAAAAAAAAAAAAAAAAAAAAA",
        policy: "provenance",
        version: 3,
        effect: "none",
        message: "The parameters come from the user",
        citations: [],
        unknown_facts: [],
      },
    ],
    modifications: [],
    modified_content: null,
    human_override_id: null,
    escalation_id: null,
    escalation_status: null,
    valid_until: null,
    policy_set: { version: 12, sha256: "a".repeat(64) },
    timestamp,
  });
}

/** About 1.7 KB, two audit records (three with an escalation). */
export function decisionRows(ids: Ids, org_id: string, wanted: RowsWanted = {}): DecisionRows {
  const {
    mode = "live",
    agent_id = "claude-3-5-sonnet-20240620",
    created_at: at = "2026-11-21T03:36:48.123456Z",
  } = wanted;
  const intent_id = ids.next("intent");
  const decision_id = ids.next("decision");
  const escalation_id = wanted.escalate === true ? ids.next("escalation") : null;
  const key = wanted.idempotency_key;
  return {
    org_id,
    epochs: { auth: 0, policy: 0, context: 0, ...wanted.epochs },
    counts: wanted.counts ?? [],
    entry: decisionEntry(ids, {
      intent_id,
      decision_id,
      membrane_id: wanted.membrane_id ?? "mem_01KAAAAAAAAAAAAAAAAAAAAAAA",
      agent_id,
      actor: "key_01KAAAAAAAAAAAAAAAAAAAAAAA",
      lineage_id: "key_01KAAAAAAAAAAAAAAAAAAAAAAA",
      mode,
      verdict: escalation_id === null ? "approve" : "escalate",
      escalation_id,
      override_id: wanted.override_id ?? null,
      fingerprint: sha256(intent),
      intent: wanted.intent ?? intent,
      facts,
      decision: decisionText(decision_id, intent_id, agent_id, at),
      at,
    }),
    escalation:
      escalation_id === null
        ? null
        : {
            escalation_id,
            mode: "live",
            status: "pending",
            record: JSON.stringify({
              escalation_id,
              intent_id,
              status: "pending",
              reviewers: [],
              votes: [],
              expires_at: at,
            }),
            demands: "[]",
            expires_at: at,
          },
    events:
      wanted.event === true
        ? [
            {
              event_id: ids.next("event"),
              event_type: "decision.approved",
              intent_id,
              decision_id,
              escalation_id,
              body: "{}",
              created_at: at,
            },
          ]
        : [],
    idempotency:
      key === undefined
        ? null
        : { operation: "submit_intent", idempotency_key: key, request_sha256: sha256(wanted.request ?? key) },
  };
}

/** Returns the outcomes in order. */
export function commitAll(writer: CommitWriter, all: readonly DecisionRows[]) {
  return Promise.allSettled(all.map((rows) => writer.commit(rows)));
}
