/**
 * Decides a stored action again by the current rules, facts, key and time: for the last vote, the timeout and the
 * claim. Facts keep their age (`factsOfNow`).
 */
import type { Decision, PipelineMode } from "@countersign/contract";
import { countsOfRecord, type RecordedCounts } from "../counters/count-reads.ts";
import type { CountedAction } from "../counters/counted.ts";
import type { CountSource } from "../counters/counting.ts";
import { decide } from "../deciding/decide.ts";
import {
  type DecidableIntent,
  type Decided,
  type DecideInput,
  default_verdict_name,
  type MembraneSettings,
} from "../deciding/decision.ts";
import { isFreezeReason } from "../deciding/freezes.ts";
import type { PolicySet } from "../deciding/policy-set.ts";
import { factsOfNow, type StoredForAncestors } from "../facts/facts-of-now.ts";
import type { ContextSource, MergedFacts } from "../facts/merge.ts";
import { mask_text } from "../masks/mask.ts";
import {
  approvalValidSeconds,
  asksAsMuch,
  membrane_demand_name,
  type ReviewDemand,
} from "../policy/escalation-terms.ts";
import { parseTimestampUs } from "../time.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { withoutTexts } from "../values/redacted-texts.ts";
import type { Ruling } from "./escalation.ts";
import type { CountedDemand } from "./panels.ts";
import { hiddenTextsInAction, maskingOfAction, type RedactableAction, redactedValues } from "./redaction.ts";

export interface StoredAction extends RedactableAction {
  readonly intent_id: string;
  readonly membrane_id: string;
  readonly mode: PipelineMode;
  /** Decision time, RFC 3339. */
  readonly created_at: string;
  readonly intent: RedactableAction["intent"] & {
    readonly submitted: DecidableIntent;
    readonly attested?: boolean | undefined;
    readonly counts?: RecordedCounts | undefined;
  };
  readonly facts: MergedFacts;
  readonly decision: Pick<Decision, "reasons" | "modifications" | "modified_content">;
}

export interface RulesInForce {
  membrane(membrane_id: string): { readonly membrane: MembraneSettings; readonly policySet: PolicySet } | undefined;
}

export interface Present {
  readonly rules: RulesInForce;
  readonly now_us: number;
  /** Documents stored now for organization, agent and target. */
  readonly stored: readonly ContextSource[];
  readonly for_ancestors: StoredForAncestors;
  /** Why the submitter may not submit now. */
  readonly submitter: "revoked" | "expired" | "removed" | null;
  /** Sums of other actions now. Absent: the sums at the decision. */
  readonly counts?: CountSource;
}

export interface BlockedBy {
  readonly policy: string;
  readonly message: string;
}

export interface DecidedAgain {
  readonly blocked: readonly BlockedBy[];
  readonly demands: readonly ReviewDemand[];
  readonly asked: Ruling;
  /** By the current rules. Null if none holds the action. */
  readonly on_timeout: "block" | "approve" | null;
  readonly approval_valid_seconds: number;
  /** How the action counts if it is let through so. */
  readonly counted: readonly CountedAction[];
}

export interface LetThrough extends Pick<Ruling, "modifications" | "modified_content"> {
  /** A person reviewed the action in the service. */
  readonly human_reviewed: boolean;
  readonly overrides?: readonly string[];
  /** Messages must not quote stored or pulled facts. */
  readonly for_agents?: boolean;
}

const submitter_name = "submitter";

const submitterMessages = {
  revoked: "The API key that submitted the action is revoked.",
  expired: "The API key that submitted the action has expired.",
  removed: "The person who submitted the action is no longer in the organization.",
} as const satisfies Record<NonNullable<Present["submitter"]>, string>;

/**
 * Blocks if the submitter may no longer submit, if a rule blocks, or if policies would now change the action. A
 * reviewer's content replaces the submitted content.
 */
export function decideAgain(action: StoredAction, let_through: LetThrough, present: Present): DecidedAgain {
  const { modifications, modified_content: content, human_reviewed, overrides = [], for_agents = false } = let_through;
  const { submitted, attested } = action.intent;
  const again = { ...inputAgain(action, present), attested: attested === true, human_reviewed, overrides };
  const as_submitted: DecideInput = { ...again, intent: submitted };
  const as_carried_out: DecideInput =
    content === null
      ? as_submitted
      : { ...again, intent: { ...submitted, payload: { ...submitted.payload, content } } };
  const changed_by_reviewer = modifications.some(({ policy_id }) => policy_id === null);
  const decided = wordedFor(for_agents, decide(changed_by_reviewer ? as_carried_out : as_submitted));
  const asked = askedRuling(action, decided.content);
  let last: Decided | null = null;
  const blocked = [...submitterBlock(present), ...blocksOf(decided)];
  if (changed_by_reviewer) {
    // Policies that already changed the reviewer's content may change it again.
    const settled = new Set(modifications.map(({ policy_id }) => policy_id));
    blocked.push(...changesOf(decided).filter(({ policy_id }) => !settled.has(policy_id)));
  } else if (blocked.length === 0 && canonicalJson(asked.modifications) !== canonicalJson(modifications)) {
    // Different changes matter only if they alter what is executed.
    last = content === null ? decided : wordedFor(for_agents, decide(as_carried_out));
    blocked.push(...blocksOf(last), ...changesOf(last));
  }
  const hidden = hiddenTextsInAction(action);
  const { demands = [], on_timeout = null } = decided.escalation ?? {};
  const approval_valid_seconds =
    decided.escalation?.approval_valid_seconds ?? approvalValidSeconds(again.membrane.escalation);
  return {
    blocked: blocked.map(({ policy, message }) => ({ policy, message: withoutTexts(message, hidden) })),
    demands,
    asked,
    on_timeout,
    approval_valid_seconds,
    counted: (last ?? decided).counted,
  };
}

function wordedFor(for_agents: boolean, decided: Decided): Decided {
  if (!for_agents) return decided;
  return { ...decided, content: { ...decided.content, reasons: [...decided.reasons_for_agents] } };
}

/**
 * Returns demands of rules that did not hold the action before, or now ask for more or other people. Excludes demands
 * replaced by a reassignment.
 */
export function newDemands(
  { decision }: StoredAction,
  demands: readonly ReviewDemand[],
  counted: readonly CountedDemand[],
): ReviewDemand[] {
  const known = new Set(counted.flatMap(({ replaces = [] }) => replaces));
  for (const { effect, policy, policy_id } of decision.reasons)
    if (effect === "escalate" && !isFreezeReason({ policy, policy_id }))
      known.add(policy_id === null ? membrane_demand_name : policy);
  return demands.filter((demand) => {
    const own = counted.filter(({ policy }) => policy === demand.policy);
    if (own.length === 0) return !known.has(demand.policy);
    return !own.some((each) => asksAsMuch({ ...each, quorum: each.asked_quorum ?? each.quorum }, demand));
  });
}

/** Returns the ruling without a reviewer's change. Redacts masked values that a policy copied. */
export function askedRuling(
  action: Pick<RedactableAction, "intent">,
  { modifications, modified_content }: Pick<Decision, "modifications" | "modified_content">,
): Ruling {
  return {
    outcome: modifications.length > 0 ? "approve_modified" : "approve",
    modifications: redactedValues(modifications, maskingOfAction(action).texts, mask_text),
    modified_content,
  };
}

export function inputAgain(
  { intent_id, membrane_id, facts, mode, created_at, intent }: StoredAction,
  { rules, now_us, stored, for_ancestors, counts = countsOfRecord(intent.counts) }: Present,
): Omit<DecideInput, "intent"> {
  const deciding = rules.membrane(membrane_id);
  if (deciding === undefined) throw new Error(`${intent_id} has no membrane ${membrane_id}`);
  const { policySet, membrane } = deciding;
  const decided_us = parseTimestampUs(created_at) ?? 0;
  const again = factsOfNow(facts, decided_us, stored, now_us, for_ancestors);
  return { facts: again, mode, now_us, policySet, membrane, counts };
}

export function reviewedInput(action: StoredAction, present: Present): DecideInput {
  const input = inputAgain(action, present);
  // The review replaces the default verdict `escalate`, but not `block`.
  const overrides = input.membrane.default_verdict === "block" ? [] : [default_verdict_name];
  return { ...input, overrides, human_reviewed: true, intent: action.intent.submitted };
}

function submitterBlock({ submitter }: Present): BlockedBy[] {
  return submitter === null ? [] : [{ policy: submitter_name, message: submitterMessages[submitter] }];
}

function blocksOf({ content: { verdict, reasons } }: Decided): BlockedBy[] {
  if (verdict !== "block") return [];
  return reasons.flatMap(({ effect, policy, message }) => (effect === "block" ? [{ policy, message }] : []));
}

function changesOf({ content: { modifications, reasons } }: Decided): (BlockedBy & { policy_id: string | null })[] {
  return modifications.map(({ path, policy_id }) => {
    const reason = reasons.find((each) => each.policy_id === policy_id);
    const message = `This policy now changes ${path} of the action. ${reason?.message ?? ""}`.trim();
    return { policy: reason?.policy ?? policy_id ?? "", policy_id, message };
  });
}
