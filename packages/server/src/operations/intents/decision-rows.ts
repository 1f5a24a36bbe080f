import type { Decision, Escalation, EventType, IntentSubmission } from "@countersign/contract";
import {
  amountAtStake,
  causeOf,
  clipText,
  countedDemand,
  type Decided,
  decisionEventTimestamp,
  type Electorate,
  formatTimestampUs,
  maskedValue,
  panelsOf,
  us_per_second,
  withoutTexts,
} from "@countersign/core";
import type { Ids } from "../../ports.ts";
import type { EscalationRow, EventRow } from "../../store/commit/commit-writer-rows.ts";
import { eventRow } from "../shared/event-row.ts";

const eventTypeOf = {
  approve: "decision.approved",
  approve_modified: "decision.approved",
  block: "decision.blocked",
  escalate: "decision.escalated",
} as const satisfies Record<Decision["verdict"], EventType>;

/** Returns the decision event if a webhook subscribes to its type (`heard`). Source: spec §2.6. */
export function decisionEvents(
  ids: Ids,
  organization_id: string,
  decision: Decision,
  at_us: number,
  heard: ReadonlySet<string>,
): EventRow[] {
  const event_type = eventTypeOf[decision.verdict];
  if (!heard.has(event_type)) return [];
  const { decision_id, intent_id } = decision;
  const event = eventRow(ids, {
    event_type,
    organization_id,
    at_us,
    intent_id,
    decision_id,
    data: {
      decision_id,
      human_override_id: decision.human_override_id,
      intent_id,
      pipeline_mode: decision.pipeline_mode,
      risk_score: decision.risk_score,
      timestamp: decisionEventTimestamp(at_us),
      verdict: decision.verdict,
    },
  });
  return [event];
}

export function openedEscalation(
  decision: Decision,
  escalation_id: string,
  intent: IntentSubmission["intent"],
  decided: Decided,
  electorate: Electorate,
  created_us: number,
): EscalationRow {
  const terms = decided.escalation;
  if (terms === null) throw new Error("an escalation without terms");
  const expires_at = formatTimestampUs(created_us + terms.timeout_seconds * us_per_second);
  // Removes what policies redact, because an agent's summary may repeat it, and the record goes into events, mails and
  // pages.
  const shown = <T>(value: T): T => maskedValue(withoutTexts(value, decided.hidden_texts), []);
  const demands = electorate.demands.map((demand) => countedDemand(demand, formatTimestampUs(created_us), expires_at));
  const record: Escalation = {
    escalation_id,
    intent_id: decision.intent_id,
    decision_id: decision.decision_id,
    membrane_id: decision.membrane_id,
    agent_id: decision.agent_id,
    pipeline_mode: decision.pipeline_mode,
    status: "pending",
    reason: clipText(oneText(decided.content.reasons.map(({ message }) => message)), 4_000),
    risk_score: decision.risk_score,
    reviewers: electorate.reviewers,
    quorum: { required: electorate.required, approvals: 0, rejections: 0 },
    panels: panelsOf(demands, expires_at),
    votes: [],
    self_reviewed: false,
    resolution: null,
    on_timeout: terms.on_timeout,
    created_at: decision.timestamp,
    expires_at,
    closed_at: null,
    action: {
      type: decided.decided_as.type,
      verb: intent.action.verb,
      target: shown(intent.action.target ?? null),
      summary: shown(intent.payload?.summary ?? null),
    },
    ...amountAtStake(intent.estimated_impact?.financial_exposure_usd, decided.shown_content),
    ...causeOf(decided.content.reasons),
  };
  return {
    escalation_id,
    mode: decision.pipeline_mode === "test" ? "test" : "live",
    status: "pending",
    record: JSON.stringify(record),
    demands: JSON.stringify(demands),
    expires_at,
  };
}

const sentenceEnd = /[\p{Sentence_Terminal}…:;,][\p{Pe}\p{Pf}"']*$/u;

/** Joins messages. Adds a full stop where a message does not end like a sentence. */
function oneText(messages: readonly string[]): string {
  const texts = messages.map((text) => text.trim()).filter((text) => text !== "");
  return texts.map((text, at) => (at < texts.length - 1 && !sentenceEnd.test(text) ? `${text}.` : text)).join(" ");
}
