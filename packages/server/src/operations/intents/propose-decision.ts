import { attestsFacts, type Decision, foldName } from "@countersign/contract";
import {
  actionFingerprint,
  type CountRead,
  CountReads,
  covers,
  type Decided,
  type DecideInput,
  decide,
  factsText,
  formatTimestampUs,
  goesThrough,
  grantCovers,
  grantReason,
  type MissingCount,
  recordedCounts,
  wouldApproveIf,
} from "@countersign/core";
import { openedReviewHash } from "../../store/audit/state/opened-review.ts";
import { type DecisionRows, decisionEntry, type IdempotencyRow } from "../../store/commit/commit-writer-rows.ts";
import { readUsableGrants, type StoredGrant } from "../../store/grants/grants.ts";
import { type ReadyOverride, readReadyOverrides } from "../../store/overrides/overrides.ts";
import type { DecisionCounts, NodeCounters } from "../counters/node-counters.ts";
import { readElectorate } from "../people/reviewers.ts";
import type { Recording, Runtime } from "../runtime.ts";
import type { DecidingMembrane } from "../shared/node-services.ts";
import { type Asked, decideInput, isReturned, membraneOf, outcomeOf } from "./decide-input.ts";
import { decisionEvents, openedEscalation } from "./decision-rows.ts";
import { gatherFacts } from "./gather-facts.ts";
import { isAgent, otherWording } from "./readers.ts";
import { type Joined, mayUse, namingKey, type Resumed, restOnEqual } from "./rest-on-equal.ts";

export interface Proposal extends Asked {
  readonly counters: NodeCounters;
  readonly idempotency: IdempotencyRow | null;
  /** The only override, grant or review that may approve the action. Null: none. Undefined: any that fits. */
  readonly approval: string | null | undefined;
}

interface Made {
  readonly counting: Counting | null;
  readonly input: DecideInput;
  readonly decided: Decided;
  readonly fingerprint: string | null;
  readonly override: Pick<ReadyOverride, "override_id" | "expires_at"> | null;
  readonly grant: StoredGrant | null;
  readonly rest: Joined | Resumed | null;
}

/** The counters of a decision, and what it read of them. */
interface Counting {
  readonly counts: DecisionCounts;
  readonly reads: CountReads;
}

export interface Proposed {
  readonly rows: DecisionRows;
  readonly resumed: Resumed | null;
  readonly grant_id: string | null;
  /** Keys of counters that must be loaded before the decision can be committed. */
  readonly missing: readonly MissingCount[];
  /** Counters without room for this action, if it is held. */
  readonly full_counters: readonly string[];
}

/**
 * Computes a decision from the cached state, as rows to commit: gathers facts, decides, applies a grant, an override or
 * the review of an equal action. Faults: invalid_context, not_found and state_conflict (membrane).
 */
export async function proposeDecision(runtime: Recording, proposal: Proposal): Promise<Proposed> {
  const { caller, state, submission } = proposal;
  const deciding = membraneOf(state, submission.membrane_id);
  const made = await decideReturnable(runtime, proposal, deciding);
  const { input, decided, rest, counting } = made;
  // Changes that are tried for `would_approve_if` may read other keys and values.
  const reads = counting?.reads.reads ?? [];
  const decision = decisionOf(runtime, proposal, deciding, made);
  const { escalation_id } = decision;
  let escalation: DecisionRows["escalation"] = null;
  if (escalation_id !== null && rest === null) {
    const electorate = await readElectorate(runtime.db, caller.org_id, decided.escalation?.demands ?? []);
    escalation = openedEscalation(decision, escalation_id, submission.intent, decided, electorate, input.now_us);
  }
  const rows = rowsOf(runtime, proposal, { ...made, reads }, decision, escalation);
  return {
    rows,
    resumed: rest?.kind === "resumed" ? rest : null,
    grant_id: made.grant?.grant_id ?? null,
    missing: counting?.reads.missing ?? [],
    full_counters: decision.verdict === "escalate" ? decided.full_counters : [],
  };
}

/** Decides again, in shadow, if the guard of a rollout returned the hold. */
async function decideReturnable(runtime: Recording, proposal: Proposal, deciding: DecidingMembrane): Promise<Made> {
  const made = await decideIntent(runtime, proposal, deciding);
  const { counting, decided, input, rest } = made;
  const is_whole = rest === null && (counting?.reads.missing ?? []).length === 0;
  if (!is_whole || !isReturned(proposal.caller, deciding, input, decided)) return made;
  return decideIntent(runtime, proposal, { ...deciding, unenforced: deciding.unheld });
}

async function decideIntent(runtime: Recording, proposal: Proposal, deciding: DecidingMembrane): Promise<Made> {
  const { caller, state, submission } = proposal;
  const { intent } = submission;
  const uncounted = decideInput(proposal, deciding, await gatherFacts(runtime, proposal));
  const { facts, mode, now_us } = uncounted;
  const counting = countingOf(proposal, deciding, mode, now_us);
  const input: DecideInput = counting === null ? uncounted : { ...uncounted, counts: counting.reads };
  const first = decide(input);
  const fingerprint = goesThrough(first.content.verdict)
    ? null
    : actionFingerprint({
        org_id: caller.org_id,
        membrane_id: deciding.membrane.membrane_id,
        agent_id: intent.agent.id,
        ancestors: (facts.ancestors ?? []).map(({ id }) => foldName(id)),
        type: first.decided_as.type,
        verb: intent.action.verb,
        target: intent.action.target ?? null,
        content: intent.payload?.content ?? null,
      });
  const made: Made = { counting, input, decided: first, fingerprint, override: null, grant: null, rest: null };
  // The keys are loaded first, and the action is decided again.
  if ((counting?.reads.missing ?? []).length > 0) return made;
  // Overrides and approvals never lift a freeze.
  if (fingerprint === null || input.mode === "shadow" || (input.freezes ?? []).length > 0) return made;
  const lifted = state.overrides ? await overridden(runtime, proposal, fingerprint, input) : null;
  if (lifted !== null) return { ...made, ...lifted };
  const is_held = first.content.verdict === "escalate";
  // A limit may block an action only because an equal one, whose place it could take, has used up the limit.
  if (!is_held && (counting === null || submission.claim !== "required")) return made;
  const { membrane_id } = deciding.membrane;
  const granted = is_held && state.grants ? await grantedBy(runtime, proposal, deciding, made) : null;
  if (granted !== null) return { ...made, ...granted };
  const { approval, idempotency } = proposal;
  const counts = counting === null ? {} : { countsWithout: counting.counts.without };
  const held = {
    caller,
    state,
    submission,
    membrane_id,
    approval,
    idempotency,
    input,
    decided: first,
    fingerprint,
    ...counts,
  };
  const rest = await restOnEqual(runtime, held);
  if (rest === null) return made;
  const { decided, reads } = rest;
  return { ...made, rest, decided, counting: counting === null || reads === null ? counting : { ...counting, reads } };
}

/** Returns the counters of the decision; null: the policies have none. */
function countingOf(
  { counters, caller }: Proposal,
  { policySet }: DecidingMembrane,
  mode: Decision["pipeline_mode"],
  now_us: number,
): Counting | null {
  if (policySet.tracks.byName.size === 0) return null;
  const counts = counters.begin(caller.org_id, mode, now_us);
  return { counts, reads: new CountReads(counts.source) };
}

async function grantedBy(
  runtime: Pick<Runtime, "db">,
  { caller: { org_id, lineage_id }, approval }: Proposal,
  deciding: DecidingMembrane,
  { input, decided: held }: Made,
): Promise<Pick<Made, "decided" | "grant"> | null> {
  const { intent, mode } = input;
  const { membrane_id } = deciding.membrane;
  const actor = { membrane_id, mode, lineage_id, agent: foldName(intent.agent.id), verb: foldName(intent.action.verb) };
  const grants = await runtime.db.tenant(org_id, (query) => readUsableGrants(query, org_id, actor));
  const { type: action_type } = held.decided_as;
  const { modified_content, reasons } = held.content;
  const contents = [intent.payload?.content ?? null, ...(modified_content === null ? [] : [modified_content])];
  for (const grant of grants.filter(({ grant_id }) => mayUse(approval, grant_id))) {
    const rules = grantCovers(grant, { intent, action_type, contents, reasons }, deciding);
    if (rules === null) continue;
    const decided = decide({ ...input, overrides: rules });
    if (!goesThrough(decided.content.verdict)) continue;
    const reason = grantReason(grant.grant_id, grant.granted_by, grant.expires_at);
    const content = { ...decided.content, reasons: [...decided.content.reasons, reason] };
    return { decided: { ...decided, content, reasons_for_agents: [...decided.reasons_for_agents, reason] }, grant };
  }
  return null;
}

function decisionOf(
  runtime: Recording,
  { caller, state, submission }: Proposal,
  deciding: DecidingMembrane,
  made: Made,
): Decision {
  const { input, decided, override, grant, rest } = made;
  const for_agents = isAgent(caller);
  const { content } = decided;
  const { mode } = input;
  const intent_id = runtime.ids.next("intent");
  const opens = content.verdict === "escalate" && mode !== "shadow" && rest === null;
  const escalation_id = opens ? runtime.ids.next("escalation") : (rest?.escalation_id ?? null);
  const decision: Decision = {
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
    reasons: for_agents ? [...decided.reasons_for_agents] : content.reasons,
    modifications: content.modifications,
    modified_content: content.modified_content,
    would_approve_if: wouldApproveIf(
      input,
      decided,
      for_agents ? { supplies: attestsFacts(caller.role) ? "attested" : "reported", gets_values: false } : undefined,
    ),
    human_override_id: override?.override_id ?? null,
    escalation_id,
    escalation_status: escalation_id === null ? null : "pending",
    ...(override === null ? {} : { approval_expires_at: override.expires_at }),
    ...(grant === null ? {} : { approval_expires_at: grant.expires_at, grant_id: grant.grant_id }),
    ...(rest?.kind === "resumed" ? { resumed_from: rest.from } : {}),
    valid_until: content.valid_until,
    policy_set: { version: state.policy_epoch, sha256: content.policy_set.sha256 },
    ...(submission.claim === undefined ? {} : { claim: submission.claim }),
    timestamp: formatTimestampUs(input.now_us),
  };
  return rest?.kind === "resumed" ? resumedDecision(decision, rest) : decision;
}

function resumedDecision(decision: Decision, { resolution }: Resumed): Decision {
  const { outcome } = resolution;
  if (outcome !== "approve" && outcome !== "approve_modified") throw new Error("an approval that let nothing through");
  const { policy_set, claim, timestamp, ...members } = decision;
  const last = { policy_set, ...(claim === undefined ? {} : { claim }), timestamp };
  return { ...members, ...resolution, verdict: outcome, would_approve_if: null, ...last };
}

function rowsOf(
  runtime: Recording,
  { caller, state, idempotency }: Proposal,
  { counting, reads, input, decided, fingerprint, override, rest }: Made & { readonly reads: readonly CountRead[] },
  decision: Decision,
  escalation: DecisionRows["escalation"],
): DecisionRows {
  const { org_id } = caller;
  // An action that joins a review, or takes over an approval, adds nothing: the first action has counted.
  const counts = counting === null ? [] : counting.counts.rowsFor(reads, rest === null ? decided.counted : []);
  const adds = counts.flatMap(({ name, key_sha, entry }) => (entry === null ? [] : [{ name, key_sha, ...entry }]));
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
    override_id: override?.override_id ?? null,
    fingerprint,
    at: decision.timestamp,
    // Later decisions on this intent use these members. `shadow` is for the audit trail, `other_wording` for the other
    // kind of reader: people or agents.
    intent: JSON.stringify({
      submitted: input.intent,
      decided_as: decided.decided_as,
      attested: input.attested,
      withheld: decided.withheld.length === 0 ? undefined : decided.withheld,
      masked: decided.masked.length === 0 ? undefined : decided.masked,
      shadow: shadow.length === 0 ? undefined : shadow,
      rests: rest === null ? undefined : runtime.ids.next("audit"),
      named_by: escalation === null ? undefined : namingKey(idempotency),
      other_wording: otherWording(caller, decided),
      counts: recordedCounts(reads),
      adds: adds.length === 0 ? undefined : adds,
      review_sha256: escalation === null ? undefined : openedReviewHash(escalation),
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
    counts,
  };
}

/**
 * Decides with the oldest active override that covers this action; null: none does. If another policy still stops the
 * action, the override stays unspent. Live overrides are for live retries, test overrides for test retries.
 */
async function overridden(
  runtime: Pick<Runtime, "db">,
  { caller: { org_id }, submission: { intent }, approval }: Proposal,
  fingerprint: string,
  input: DecideInput,
): Promise<Pick<Made, "decided" | "override"> | null> {
  const { mode } = input;
  if (mode === "shadow") return null;
  const ready = await runtime.db.tenant(org_id, (query) => readReadyOverrides(query, org_id, fingerprint, mode));
  const tried = new Set<string>();
  for (const override of ready.filter(({ override_id }) => mayUse(approval, override_id))) {
    const { lifts, blocked } = override;
    const key = JSON.stringify(lifts);
    if (tried.has(key) || !covers(blocked, intent)) continue;
    tried.add(key);
    const decided = decide({ ...input, overrides: lifts });
    if (goesThrough(decided.content.verdict)) return { decided, override };
  }
  return null;
}
