import type { Reason } from "@countersign/contract";
import type { PolicySet } from "../deciding/policy-set.ts";
import { heldFor, type ReviewDemand } from "../policy/escalation-terms.ts";

/** What an override of one blocked decision takes, and what it then lifts. */
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
      /** Stored with the override; the retry is decided with it as `DecideInput.overrides`. */
      readonly lifts: readonly string[];
    };

/**
 * Works out what an override of a blocked decision takes.
 *
 * Nobody may override if one policy in the reasons says `never`. Two people must if one says `two_person`, or if a policy
 * that also holds the action has a quorum above 1. A policy that is no longer in the set takes one person.
 *
 * The override lifts everything that blocks or holds the action (policy ids; names for the membrane's own reasons), because
 * the next retry must be approved rather than held. So each person must also be a reviewer of every policy that holds it.
 */
export function overrideTerms(reasons: readonly Reason[], policySet: PolicySet): OverrideTerms {
  const stopping = reasons.filter((reason) => reason.effect === "block" || reason.effect === "escalate");
  const classes = new Map(policySet.live.placed.map(({ policy }) => [policy.policy_id, policy.override]));
  const classOf = (reason: Reason): string => classes.get(reason.policy_id ?? "") ?? "reviewer";
  const forbidden = stopping.filter((reason) => classOf(reason) === "never");
  if (forbidden.length > 0) return { kind: "forbidden", policies: namesIn(forbidden) };
  const lifts = sorted(stopping.map((reason) => reason.policy_id ?? reason.policy));
  const demands = heldFor(reasons, policySet);
  const several =
    stopping.some((reason) => classOf(reason) === "two_person") || demands.some(({ quorum }) => quorum > 1);
  return { kind: "allowed", people: several ? 2 : 1, demands, policies: namesIn(stopping), lifts };
}

const namesIn = (reasons: readonly Reason[]): string[] => sorted(reasons.map(({ policy }) => policy));

const sorted = (names: readonly string[]): string[] => [...new Set(names)].sort();
