/** Grants approve similar actions in advance (docs/decisions/0045-grants.md). */
import { foldName, type GrantScope, type Reason } from "@countersign/contract";
import type { Content, DecidableIntent, MembraneSettings } from "../deciding/decision.ts";
import type { PolicySet } from "../deciding/policy-set.ts";
import { left_out } from "../deciding/reasons.ts";
import { heldFor, type ReviewDemand } from "../policy/escalation-terms.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { nothing, pointerNames, valueAt } from "../values/json-patch.ts";

/** As of the grant's creation. */
export interface GrantRule {
  readonly policy_id: string;
  readonly policy: string;
  readonly version: number;
  readonly demand: ReviewDemand;
}

export type GrantTerms =
  | {
      readonly kind: "refused";
      /** True: rules changed. False: rules forbid grants. */
      readonly outdated: boolean;
      readonly message: string;
    }
  | {
      readonly kind: "allowed";
      readonly rules: readonly GrantRule[];
      /** Minimum over the rules. */
      readonly times_max: number;
      readonly hours_max: number;
    };

type Rules = { readonly policySet: PolicySet; readonly membrane: Pick<MembraneSettings, "escalation"> };

export function grantTerms(reasons: readonly Reason[], { policySet, membrane }: Rules): GrantTerms {
  const holding = reasons.filter(({ effect }) => effect === "escalate");
  const policies = new Map(policySet.live.placed.map(({ policy }) => [policy.policy_id, policy]));
  const times: number[] = [];
  const hours: number[] = [];
  for (const reason of holding) {
    const policy = policies.get(reason.policy_id ?? "");
    const { grants } = policy?.escalation ?? {};
    if (reason.policy_id === null)
      return refused(`${reason.policy} holds this action. Grants cover rules of policies only. Decide the review.`);
    if (policy === undefined || policy.version !== reason.version)
      return refused(`The rule ${reason.policy} changed after it held this action. Submit the action again.`, true);
    if (grants === undefined)
      return refused(`The rule ${reason.policy} permits no grants. An admin can add escalation.grants to its policy.`);
    if (!isEstablished(reason))
      return refused(
        `A fact was unknown to the rule ${reason.policy}. Grants cover only actions with all facts known.`,
      );
    times.push(grants.times_max);
    hours.push(grants.hours_max);
  }
  const rules = rulesOf(holding, { policySet, membrane });
  const several = rules.find(({ demand }) => demand.quorum > 1);
  if (several !== undefined)
    return refused(
      `The rule ${several.policy} needs ${several.demand.quorum} people. Grants need a rule that one person decides.`,
    );
  const confirmed = rules.find(({ demand }) => demand.confirm !== undefined);
  if (confirmed !== undefined)
    return refused(
      `The rule ${confirmed.policy} asks reviewers to confirm each ruling. A grant would approve without it.`,
    );
  if (rules.length === 0) return refused("No rule holds this action.");
  return { kind: "allowed", rules, times_max: Math.min(...times), hours_max: Math.min(...hours) };
}

function refused(message: string, outdated = false): GrantTerms {
  return { kind: "refused", outdated, message };
}

/** An omitted reason may hide unknown facts, so it counts as false. */
function isEstablished({ message, unknown_facts }: Reason): boolean {
  return unknown_facts.length === 0 && message !== left_out;
}

function rulesOf(holding: readonly Reason[], { policySet, membrane }: Rules): GrantRule[] {
  const versions = new Map(holding.map(({ policy_id, version }) => [policy_id, version]));
  return heldFor(holding, policySet, membrane.escalation).map((demand) => {
    const { policy_id = "", policy } = demand;
    return { policy_id, policy, version: versions.get(policy_id) ?? 0, demand };
  });
}

export interface UsableGrant {
  readonly scope: GrantScope;
  readonly action_type: string;
  readonly rules: readonly GrantRule[];
}

export interface GrantedAction {
  readonly intent: DecidableIntent;
  readonly action_type: string;
  /** As submitted, and as modified by policies. */
  readonly contents: readonly (Content | null)[];
  readonly reasons: readonly Reason[];
}

/**
 * Returns the policy ids that the grant satisfies, or null. The action must be in scope, nothing may block it, and only
 * unchanged rules of the grant may hold it.
 */
export function grantCovers(grant: UsableGrant, action: GrantedAction, rules: Rules): readonly string[] | null {
  const { reasons, intent, contents } = action;
  if (action.action_type !== grant.action_type || !isInScope(grant.scope, intent, contents)) return null;
  if (reasons.some(({ effect }) => effect === "block")) return null;
  const terms = grantTerms(reasons, rules);
  if (terms.kind === "refused" || !terms.rules.every((rule) => isRuleOf(grant, rule))) return null;
  return terms.rules.map(({ policy_id }) => policy_id);
}

function isRuleOf({ rules }: Pick<UsableGrant, "rules">, rule: GrantRule): boolean {
  return rules.some((granted) => canonicalJson(granted) === canonicalJson(rule));
}

export function rulesInForce({ rules }: Pick<UsableGrant, "rules">, { policySet, membrane }: Rules): boolean {
  const versions = new Map(policySet.live.placed.map(({ policy }) => [policy.policy_id, policy.version]));
  const reasons = rules.map(({ policy_id }) => ({ effect: "escalate" as const, policy_id }));
  const demands = new Map(heldFor(reasons, policySet, membrane.escalation).map((each) => [each.policy_id, each]));
  return rules.every(({ policy_id, version, demand }) => {
    const now = demands.get(policy_id);
    return now !== undefined && versions.get(policy_id) === version && canonicalJson(now) === canonicalJson(demand);
  });
}

/** Compares folded names of agents and verbs. */
export function isInScope(scope: GrantScope, intent: DecidableIntent, contents: readonly (Content | null)[]): boolean {
  const { agent_id, verb, target, session_id, at_most = [] } = scope;
  return (
    foldName(intent.agent.id) === foldName(agent_id) &&
    foldName(intent.action.verb) === foldName(verb) &&
    (target === undefined || intent.action.target?.identifier === target) &&
    (session_id === undefined || intent.agent.session_id === session_id) &&
    at_most.every(({ path, value }) => contents.every((content) => isAtMost(content, path, value)))
  );
}

/** Integers beyond 2^53 - 1 do not count. */
function isAtMost(content: Content | null, path: string, most: number): boolean {
  const value = content === null ? nothing : valueAt(content, pointerNames(path));
  return typeof value === "number" && value >= 0 && value <= most && value <= Number.MAX_SAFE_INTEGER;
}

export function grantText({ agent_id, verb, target, session_id, at_most = [] }: GrantScope, times: number): string {
  const bounds = at_most.map(({ path, value }) => `${path} is at most ${value}`);
  const where = [
    ...(target === undefined ? [] : [`the target is ${target}`]),
    ...(session_id === undefined ? [] : [`the session is ${session_id}`]),
    ...bounds,
  ];
  const free = [
    ...(target === undefined ? ["the target"] : []),
    ...(session_id === undefined ? ["the session"] : []),
    bounds.length === 0 ? "all parameters" : "all other parameters",
  ];
  const condition = where.length === 0 ? "" : ` if ${where.join(" and ")}`;
  return (
    `The agent ${agent_id} may run ${verb}${condition}, ${times === 1 ? "once" : `${times} times`}. ` +
    `Free: ${free.join(", ")}.`
  );
}

const grant_reason_name = "grant";

export function grantReason(grant_id: string, granted_by: string, expires_at: string): Reason {
  const message = `Approved in advance: the grant ${grant_id} by ${granted_by} allows this until ${expires_at}.`;
  return {
    ...{ policy_id: null, policy: grant_reason_name, version: null, effect: "none", message },
    ...{ citations: [], unknown_facts: [] },
  };
}
