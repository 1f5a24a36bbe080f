import type { Decision, IntentRecord } from "@countersign/contract";
import { redactContent } from "../deciding/merge-changes.ts";
import { decisionForPeople, intentForPeople } from "../masks/for-people.ts";
import {
  hiddenPlaces,
  hiddenTextsInAction,
  maskingOfAction,
  type RedactableAction,
  redactedValues,
} from "../reviews/redaction.ts";
import { withoutTexts } from "../values/redacted-texts.ts";
import { type Column, joined } from "./columns.ts";

export interface ExportedDecision {
  readonly intent: IntentRecord;
  readonly decision: Decision;
}

/**
 * Returns an intent and its decision for a file that leaves the service: without the values that policies redact or
 * mask, and without credentials, for every caller. The agent's id, the type and the verb stay, as in events.
 */
export function exportedDecision(action: RedactableAction, intent: IntentRecord, decision: Decision): ExportedDecision {
  const masking = maskingOfAction(action);
  const hidden = hiddenTextsInAction(action);
  const masked = intentForPeople(intent, masking);
  const { agent, action: asked, payload, decided_as, data_classes, estimated_impact: impact } = masked;
  const clean = <V>(value: V): V => withoutTexts(value, hidden);
  const places = hiddenPlaces(action).map((path) => ({ op: "redact" as const, path, policy_id: "", policy: "" }));
  const { content } = payload ?? {};
  const shown = decisionForPeople(decision, masking);
  return {
    intent: {
      ...masked,
      agent: { ...clean(agent), id: agent.id },
      action: { ...asked, ...(asked.target === undefined ? {} : { target: clean(asked.target) }) },
      decided_as: { ...decided_as, data_classes: clean(decided_as.data_classes) },
      ...(data_classes === undefined ? {} : { data_classes: clean(data_classes) }),
      ...(impact?.regulatory_domains === undefined
        ? {}
        : { estimated_impact: { ...impact, regulatory_domains: clean(impact.regulatory_domains) } }),
      ...(payload === undefined
        ? {}
        : {
            payload: {
              ...payload,
              ...(payload.summary === undefined ? {} : { summary: clean(payload.summary) }),
              ...(content === undefined ? {} : { content: redactContent(content, places).content }),
            },
          }),
    },
    decision: {
      ...shown,
      modifications: redactedValues(shown.modifications, hidden),
      modified_content: clean(shown.modified_content),
    },
  };
}

const text = (name: string, of: Column<ExportedDecision>["of"]): Column<ExportedDecision> => ({
  name,
  type: "text",
  of,
});
const time = (name: string, of: Column<ExportedDecision>["of"]): Column<ExportedDecision> => ({
  name,
  type: "time",
  of,
});
const number = (name: string, of: Column<ExportedDecision>["of"]): Column<ExportedDecision> => ({
  name,
  type: "number",
  of,
});

/** The columns of an exported decision. JSON Lines have the whole records. */
export const decisionColumns: readonly Column<ExportedDecision>[] = [
  time("submitted_at", ({ intent }) => intent.submitted_at),
  text("intent_id", ({ intent }) => intent.intent_id),
  text("membrane_id", ({ intent }) => intent.membrane_id),
  text("mode", ({ intent }) => intent.pipeline_mode),
  text("agent_id", ({ intent }) => intent.agent.id),
  text("on_behalf_of", ({ intent }) => intent.agent.on_behalf_of),
  text("session_id", ({ intent }) => intent.agent.session_id),
  text("action_type", ({ intent }) => intent.decided_as.type),
  text("verb", ({ intent }) => intent.action.verb),
  text("target_type", ({ intent }) => intent.action.target?.type),
  text("target", ({ intent }) => intent.action.target?.identifier),
  number("amount_usd", ({ intent }) => intent.estimated_impact?.financial_exposure_usd),
  number("audience_size", ({ intent }) => intent.estimated_impact?.audience_size),
  text("data_classes", ({ intent }) => joined(intent.decided_as.data_classes)),
  text("summary", ({ intent }) => intent.payload?.summary),
  text("verdict", ({ decision }) => decision.verdict),
  text("outcome", ({ decision }) => decision.outcome),
  text("status", ({ decision }) => decision.status),
  { name: "enforced", type: "boolean", of: ({ decision }) => decision.enforced },
  number("risk_score", ({ decision }) => decision.risk_score),
  text("policies", ({ decision }) => joined(decision.reasons.map(({ policy }) => policy))),
  text("reason", ({ decision }) => decision.reasons[0]?.message),
  text("citations", ({ decision }) => joined([...new Set(decision.reasons.flatMap(({ citations }) => citations))])),
  text("unknown_facts", ({ decision }) => joined(unknownFacts(decision))),
  text("escalation_id", ({ decision }) => decision.escalation_id),
  text("escalation_status", ({ decision }) => decision.escalation_status),
  text("human_override_id", ({ decision }) => decision.human_override_id),
  text("execution", ({ decision }) => decision.execution?.status),
  time("execution_at", ({ decision }) => decision.execution?.at),
  text("submitted_by", ({ intent }) => intent.submitted_by.id),
  text("decision_id", ({ decision }) => decision.decision_id),
  time("erased_at", ({ intent }) => intent.erased?.at),
  text("content", ({ intent }) =>
    intent.payload?.content === undefined ? null : JSON.stringify(intent.payload.content),
  ),
];

function unknownFacts({ reasons }: Decision): string[] {
  return [...new Set(reasons.flatMap(({ unknown_facts }) => unknown_facts.map(({ path }) => path)))];
}
