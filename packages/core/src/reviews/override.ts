import type { Reason } from "@countersign/contract";
import type { MembraneSettings } from "../deciding/decision.ts";
import { isFreezeReason } from "../deciding/freezes.ts";
import type { PolicySet } from "../deciding/policy-set.ts";
import { heldFor, membraneDemand, type ReviewDemand } from "../policy/escalation-terms.ts";

/** What an override of one blocked decision requires, and which policies it cancels. */
export type OverrideTerms =
  /** Nobody may override these policies (by name). */
  | { readonly kind: "forbidden"; readonly policies: readonly string[] }
  | {
      readonly kind: "allowed";
      /** How many people must approve the override. */
      readonly people: 1 | 2;
      /** Each of these people must meet each demand. */
      readonly demands: readonly ReviewDemand[];
      /** The policies (by name) that stop the action. */
      readonly policies: readonly string[];
      /** The names that the override cancels. The next retry is decided with them as `DecideInput.overrides`. */
      readonly lifts: readonly string[];
    };

/**
 * Works out what an override of a blocked decision requires.
 *
 * Nobody may override if one policy in the reasons says `never`. Two people must approve if one says `two_person`, or if a
 * demand has a quorum above 1. A policy that is no longer in the set requires one person.
 *
 * The override cancels everything that blocks or holds the action, except freezes, because the next retry must be approved and not held. It
 * names policies by id, and the membrane's own reasons by name. Each person must be a reviewer of every policy that holds the
 * action, and of the membrane if the membrane holds or blocks it. So a blocking rule beside them, or more risk, never lets fewer
 * or weaker people decide.
 */
export function overrideTerms(
  reasons: readonly Reason[],
  policySet: PolicySet,
  membrane: MembraneSettings["escalation"],
): OverrideTerms {
  const stopping = reasons.filter(
    (reason) => (reason.effect === "block" || reason.effect === "escalate") && !isFreezeReason(reason),
  );
  const classes = new Map(policySet.live.placed.map(({ policy }) => [policy.policy_id, policy.override]));
  const classOf = (reason: Reason): string => classes.get(reason.policy_id ?? "") ?? "reviewer";
  const forbidden = stopping.filter((reason) => classOf(reason) === "never");
  if (forbidden.length > 0) return { kind: "forbidden", policies: namesIn(forbidden) };
  const lifts = sorted(stopping.map((reason) => reason.policy_id ?? reason.policy));
  const demands = heldFor(reasons, policySet, membrane);
  if (stopping.some(({ policy_id }) => policy_id === null)) demands.push(membraneDemand(membrane));
  const several =
    stopping.some((reason) => classOf(reason) === "two_person") || demands.some(({ quorum }) => quorum > 1);
  return { kind: "allowed", people: several ? 2 : 1, demands, policies: namesIn(stopping), lifts };
}

const namesIn = (reasons: readonly Reason[]): string[] => sorted(reasons.map(({ policy }) => policy));

const sorted = (names: readonly string[]): string[] => [...new Set(names)].sort();
