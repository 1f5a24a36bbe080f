/**
 * Decides a stored action again, by what holds now: the rules, the stored facts, the submitter's key, and the time of day. Three
 * moments need it: the vote that would approve an action, the end of a review's time, and the claim before an action is carried
 * out. Only the ages of facts are those of the first decision (`factsOfNow`).
 */
import type { Decision, PipelineMode } from "@countersign/contract";
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

/** A decided action as it is stored, with everything that a second decision needs. */
export interface StoredAction extends RedactableAction {
  readonly intent_id: string;
  readonly membrane_id: string;
  readonly mode: PipelineMode;
  /** When it was decided, RFC 3339. */
  readonly created_at: string;
  readonly intent: RedactableAction["intent"] & {
    readonly submitted: DecidableIntent;
    readonly attested?: boolean | undefined;
  };
  readonly facts: MergedFacts;
  readonly decision: Pick<Decision, "reasons" | "modifications" | "modified_content">;
}

/** The rules in force of an organization. */
export interface RulesInForce {
  membrane(membrane_id: string): { readonly membrane: MembraneSettings; readonly policySet: PolicySet } | undefined;
}

/** What holds at the moment of a second decision. */
export interface Present {
  readonly rules: RulesInForce;
  readonly now_us: number;
  /** The documents that are stored now for the organization, the agent and the target of the action. */
  readonly stored: readonly ContextSource[];
  /** Those of the agents above it. */
  readonly for_ancestors: StoredForAncestors;
  /** Why whoever submitted the action may submit nothing now; null: it may. */
  readonly submitter: "revoked" | "expired" | "removed" | null;
}

/** A rule that blocks an action now, and its message. */
export interface BlockedBy {
  readonly policy: string;
  readonly message: string;
}

/** What a second decision says. */
export interface DecidedAgain {
  /** What blocks the action now; empty: nothing. */
  readonly blocked: readonly BlockedBy[];
  /** What each rule demands that holds the action now; empty: none holds it. */
  readonly demands: readonly ReviewDemand[];
  /** The changes that policies ask for now. */
  readonly asked: Ruling;
  /** What the end of a review's time does by the current rules; null: no rule holds the action. */
  readonly on_timeout: "block" | "approve" | null;
  /** How long an approval lives by the current rules. */
  readonly approval_valid_seconds: number;
}

/** What would be carried out, and on whose word. */
export interface LetThrough extends Pick<Ruling, "modifications" | "modified_content"> {
  /** True: a person reviewed the action in the service. */
  readonly human_reviewed: boolean;
  /** The names that an override covers. Absent: none. */
  readonly overrides?: readonly string[];
  /** Whether an agent is told what blocks. Its messages quote no stored or pulled fact. */
  readonly for_agents?: boolean;
}

/** The `policy` of a block because whoever submitted the action may submit nothing now. */
const submitter_name = "submitter";

const submitterMessages = {
  revoked: "The API key that submitted the action is revoked.",
  expired: "The API key that submitted the action has expired.",
  removed: "The person who submitted the action is no longer in the organization.",
} as const satisfies Record<NonNullable<Present["submitter"]>, string>;

/**
 * Decides an action again. It is blocked if the submitter may submit nothing now, if a rule blocks it, or if policies now change
 * what would be carried out. Where a reviewer changed the content, that content counts in place of the submitted one.
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
  const blocked = [...submitterBlock(present), ...blocksOf(decided)];
  if (changed_by_reviewer) {
    // Policies that already changed what the reviewer sent need not agree with themselves twice.
    const settled = new Set(modifications.map(({ policy_id }) => policy_id));
    blocked.push(...changesOf(decided).filter(({ policy_id }) => !settled.has(policy_id)));
  } else if (blocked.length === 0 && canonicalJson(asked.modifications) !== canonicalJson(modifications)) {
    // Policies ask for other changes than before. That matters only if they would change what would be carried out.
    const last = content === null ? decided : wordedFor(for_agents, decide(as_carried_out));
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
  };
}

function wordedFor(for_agents: boolean, decided: Decided): Decided {
  if (!for_agents) return decided;
  return { ...decided, content: { ...decided.content, reasons: [...decided.reasons_for_agents] } };
}

/**
 * Returns the demands of rules that hold the action now and did not hold it when it was decided, and of rules that ask for more
 * people, or for others, than the review has counted. Leaves out those that a reassignment replaced.
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

/**
 * Returns the ruling of an approval without a reviewer's change: it has the changes that policies asked for, as records show them. A
 * policy may have written a masked value elsewhere.
 */
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

/** Returns the input for a second decision, without the intent. */
export function inputAgain(
  { intent_id, membrane_id, facts, mode, created_at }: StoredAction,
  { rules, now_us, stored, for_ancestors }: Present,
): Omit<DecideInput, "intent"> {
  const deciding = rules.membrane(membrane_id);
  if (deciding === undefined) throw new Error(`${intent_id} has no membrane ${membrane_id}`);
  const { policySet, membrane } = deciding;
  const decided_us = parseTimestampUs(created_at) ?? 0;
  return { facts: factsOfNow(facts, decided_us, stored, now_us, for_ancestors), mode, now_us, policySet, membrane };
}

/** Returns the input for deciding the action as one that a person reviewed. */
export function reviewedInput(action: StoredAction, present: Present): DecideInput {
  const input = inputAgain(action, present);
  // The reviewers decide in place of a membrane that asks people. A membrane that blocks everything asks nobody.
  const overrides = input.membrane.default_verdict === "block" ? [] : [default_verdict_name];
  return { ...input, overrides, human_reviewed: true, intent: action.intent.submitted };
}

/** Returns the block of a submitter who may submit nothing now, or nothing. */
function submitterBlock({ submitter }: Present): BlockedBy[] {
  return submitter === null ? [] : [{ policy: submitter_name, message: submitterMessages[submitter] }];
}

function blocksOf({ content: { verdict, reasons } }: Decided): BlockedBy[] {
  if (verdict !== "block") return [];
  return reasons.flatMap(({ effect, policy, message }) => (effect === "block" ? [{ policy, message }] : []));
}

/** Returns the policies that would change the action, once for each change. */
function changesOf({ content: { modifications, reasons } }: Decided): (BlockedBy & { policy_id: string | null })[] {
  return modifications.map(({ path, policy_id }) => {
    const reason = reasons.find((each) => each.policy_id === policy_id);
    const message = `This policy now changes ${path} of the action. ${reason?.message ?? ""}`.trim();
    return { policy: reason?.policy ?? policy_id ?? "", policy_id, message };
  });
}
