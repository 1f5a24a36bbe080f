/** Computes a decision from memory, as the rows that would commit it. */

import type { ContextDocument, Decision, IntentSubmission } from "@countersign/contract";
import {
  actionFingerprint,
  contextErrors,
  type Decided,
  type DecideInput,
  decide,
  Fault,
  factsText,
  faultAt,
  formatTimestampUs,
  goesThrough,
  mergeFacts,
  normalizeContext,
  wouldApproveIf,
} from "@countersign/core";
import { type DecisionRows, decisionEntry, type IdempotencyRow } from "../../store/commit/commit-writer-rows.ts";
import { readReadyOverrides } from "../../store/overrides/overrides.ts";
import { readElectorate } from "../people/reviewers.ts";
import type { Recording, Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import type { DecidingMembrane, OrgState, Pulled } from "../shared/node-services.ts";
import { storedSources, subjectsOf } from "../shared/present.ts";
import { decisionEvents, openedEscalation } from "./decision-rows.ts";

/** One submission, with what it is decided by. */
export interface Proposal {
  readonly caller: Caller;
  readonly state: OrgState;
  readonly submission: IntentSubmission;
  readonly asked_mode: "shadow" | undefined;
  /** What the context source returned; null: there is no source. */
  readonly pulled: Pulled | null;
  readonly idempotency: IdempotencyRow | null;
}

/** A decision with what it was made of. */
interface Made {
  readonly input: DecideInput;
  readonly decided: Decided;
  readonly fingerprint: string | null;
  readonly override_id: string | null;
}

/**
 * Decides by the cached state. Steps: gather the facts, decide, apply an override, write the record, and make its rows. Faults:
 * invalid_context, not_found and state_conflict (membrane).
 */
export async function proposeDecision(runtime: Recording, proposal: Proposal): Promise<DecisionRows> {
  const { caller, state, submission } = proposal;
  const deciding = membraneOf(state, submission.membrane_id);
  const made = await decideIntent(runtime, proposal, deciding);
  const { input, decided } = made;
  const decision = decisionOf(runtime, proposal, deciding, made);
  const { escalation_id } = decision;
  let escalation: DecisionRows["escalation"] = null;
  if (escalation_id !== null) {
    const electorate = await readElectorate(runtime.db, caller.org_id, decided.escalation?.demands ?? []);
    escalation = openedEscalation(decision, escalation_id, submission.intent, decided, electorate, input.now_us);
  }
  return rowsOf(runtime, proposal, made, decision, escalation);
}

async function decideIntent(runtime: Recording, proposal: Proposal, deciding: DecidingMembrane): Promise<Made> {
  const { caller, state, submission, asked_mode } = proposal;
  const { intent } = submission;
  const { now_us, facts } = await factsOf(runtime, proposal);
  const input: DecideInput = {
    intent,
    facts,
    policySet: deciding.policySet,
    membrane: deciding.membrane,
    mode: pipelineMode(caller.environment, asked_mode, deciding.membrane.status),
    now_us,
    attested: attests(caller),
    freezes: state.freezes.of({ agent_id: intent.agent.id, lineage_id: caller.lineage_id }),
  };
  const first = decide(input);
  const fingerprint = goesThrough(first.content.verdict)
    ? null
    : actionFingerprint({
        org_id: caller.org_id,
        membrane_id: deciding.membrane.membrane_id,
        agent_id: intent.agent.id,
        type: first.decided_as.type,
        verb: intent.action.verb,
        target: intent.action.target ?? null,
        content: intent.payload?.content ?? null,
      });
  // No override lifts a freeze, so none is looked up for what is frozen.
  const is_frozen = (input.freezes ?? []).length > 0;
  if (fingerprint === null || !state.overrides || is_frozen)
    return { input, decided: first, fingerprint, override_id: null };
  const { decided, override_id } = await overridden(runtime, caller.org_id, fingerprint, input, first);
  return { input, decided, fingerprint, override_id };
}

/** Merges the facts of the submission, the stored ones, and the pulled ones. `now_us` is the time of the decision. */
async function factsOf(runtime: Recording, { state, submission, pulled }: Proposal) {
  const inline = submission.context;
  if (inline !== undefined) refuseInvalidContext(inline, runtime.clock.now_us());
  const stored = await state.storedContext(subjectsOf(submission.intent));
  const now_us = runtime.clock.now_us();
  const sources = storedSources(stored, now_us);
  if (inline !== undefined) sources.push({ source: "inline", document: normalizeContext(inline), received_us: now_us });
  if (pulled !== null && "document" in pulled) sources.push({ source: "pulled", ...pulled });
  return { now_us, facts: mergeFacts(sources, pullFailureOf(pulled)) };
}

function pullFailureOf(pulled: Pulled | null) {
  return pulled !== null && "failed" in pulled ? pulled.failed : null;
}

function decisionOf(
  runtime: Recording,
  { state, submission }: Proposal,
  deciding: DecidingMembrane,
  made: Made,
): Decision {
  const { input, decided, override_id } = made;
  const { content } = decided;
  const { mode } = input;
  const intent_id = runtime.ids.next("intent");
  const escalation_id = content.verdict === "escalate" && mode !== "shadow" ? runtime.ids.next("escalation") : null;
  return {
    decision_id: runtime.ids.next("decision"),
    intent_id,
    membrane_id: deciding.membrane.membrane_id,
    agent_id: input.intent.agent.id,
    verdict: content.verdict,
    risk_score: content.risk_score,
    risk_contributions: content.risk_contributions,
    pipeline_mode: mode,
    enforced: mode !== "shadow",
    outcome: outcomeOf(content.verdict, mode),
    status: escalation_id === null ? "final" : "pending",
    reasons: content.reasons,
    modifications: content.modifications,
    modified_content: content.modified_content,
    would_approve_if: wouldApproveIf(input, decided),
    human_override_id: override_id,
    escalation_id,
    escalation_status: escalation_id === null ? null : "pending",
    valid_until: content.valid_until,
    policy_set: { version: state.policy_epoch, sha256: content.policy_set.sha256 },
    ...(submission.claim === undefined ? {} : { claim: submission.claim }),
    timestamp: formatTimestampUs(input.now_us),
  };
}

function rowsOf(
  runtime: Recording,
  { caller, state, idempotency }: Proposal,
  { input, decided, fingerprint, override_id }: Made,
  decision: Decision,
  escalation: DecisionRows["escalation"],
): DecisionRows {
  const { org_id } = caller;
  const shadow = decided.shadow_reasons.map(({ policy, policy_id, effect }) => ({ policy, policy_id, effect }));
  const entry = decisionEntry(runtime.ids, {
    intent_id: decision.intent_id,
    decision_id: decision.decision_id,
    membrane_id: decision.membrane_id,
    agent_id: decision.agent_id,
    actor: caller.actor,
    lineage_id: caller.lineage_id,
    mode: input.mode,
    verdict: decision.verdict,
    escalation_id: decision.escalation_id,
    override_id,
    fingerprint,
    at: decision.timestamp,
    // A later decision on the same intent uses `submitted`, `attested`, the mode, the facts, the time, and the override's lifts. The
    // audit trail shows `shadow`: what policies in shadow would have done.
    intent: JSON.stringify({
      submitted: input.intent,
      decided_as: decided.decided_as,
      attested: input.attested,
      withheld: decided.withheld.length === 0 ? undefined : decided.withheld,
      masked: decided.masked.length === 0 ? undefined : decided.masked,
      shadow: shadow.length === 0 ? undefined : shadow,
    }),
    facts: factsText(input.facts),
    decision: JSON.stringify(decision),
  });
  return {
    org_id,
    epochs: { auth: caller.auth_epoch, policy: state.policy_epoch, context: state.context_epoch },
    entry,
    escalation,
    events: decisionEvents(runtime.ids, org_id, decision, input.now_us, state.heard),
    idempotency,
  };
}

/**
 * Decides with a person's override: the oldest active one that turns this decision into an approval. If another policy still
 * stops the action, the decision stays the same and the override stays unspent. Live overrides are for live retries, those
 * of test mode for test mode.
 */
async function overridden(
  runtime: Pick<Runtime, "db">,
  org_id: string,
  fingerprint: string,
  input: DecideInput,
  decided: Decided,
): Promise<{ readonly decided: Decided; readonly override_id: string | null }> {
  const { mode } = input;
  if (mode === "shadow") return { decided, override_id: null };
  const ready = await runtime.db.tenant(org_id, (query) => readReadyOverrides(query, org_id, fingerprint, mode));
  for (const { override_id, lifts } of ready) {
    const lifted = decide({ ...input, overrides: lifts });
    if (goesThrough(lifted.content.verdict)) return { decided: lifted, override_id };
  }
  return { decided, override_id: null };
}

function membraneOf(state: OrgState, membrane_id: string | undefined): DecidingMembrane {
  const deciding = state.membrane(membrane_id);
  if (deciding === undefined) {
    throw faultAt("not_found", "/membrane_id", "not_found", "There is no such membrane.");
  }
  if (deciding.membrane.status === "draft") {
    throw faultAt(
      "state_conflict",
      "/membrane_id",
      "draft",
      "The membrane is a draft; it decides nothing until it goes to shadow or live.",
    );
  }
  return deciding;
}

/** Faults: invalid_context with every problem, its path below `/context`. */
function refuseInvalidContext(document: ContextDocument, now_us: number): void {
  const errors = contextErrors(document, now_us);
  if (errors.length === 0) return;
  throw new Fault("invalid_context", { details: errors.map((error) => ({ ...error, path: `/context${error.path}` })) });
}

/** Returns the mode: a test key always decides in test mode; key, request or membrane can ask for shadow mode. */
function pipelineMode(
  environment: Caller["environment"],
  asked: "shadow" | undefined,
  membrane_status: string,
): Decision["pipeline_mode"] {
  if (environment === "test") return "test";
  return environment === "shadow" || asked === "shadow" || membrane_status === "shadow" ? "shadow" : "live";
}

/** Whether the caller may attest claims that an agent cannot make for itself. */
function attests(caller: Caller): boolean {
  return caller.role === "admin" || caller.role === "operator" || caller.role === "reviewer";
}

/** Returns what the agent may do now: shadow mode holds nothing; null while an escalation is open. */
function outcomeOf(verdict: Decision["verdict"], mode: Decision["pipeline_mode"]): Decision["outcome"] {
  if (mode === "shadow") return "approve";
  return verdict === "escalate" ? null : verdict;
}
