import type { Reason } from "@countersign/contract";
import type { PolicySet } from "../deciding/policy-set.ts";
import { heldFor, type ReviewDemand } from "../policy/escalation-terms.ts";

/** What overriding one blocked decision takes, and what the override then lifts. */
export type OverrideTerms =
  /** These policies (by name) may not be overridden by anybody. */
  | { readonly kind: "forbidden"; readonly policies: readonly string[] }
  /**
   * `policies` (by name) stop it; `lifts` goes into the override and from there into `DecideInput.overrides`; each of the
   * people has to be among those whom `demands` name.
   */
  | {
      readonly kind: "allowed";
      readonly people: 1 | 2;
      readonly demands: readonly ReviewDemand[];
      readonly policies: readonly string[];
      readonly lifts: readonly string[];
    };

/**
 * What it takes to override a blocked decision: nobody may when one policy in its reasons says `never`, two people must
 * when one says `two_person`. It lifts everything that blocks or escalates there (policy ids; names for the membrane's
 * own say): the next retry shall be approved, not held. So it is for those whom a policy that holds it names as reviewers, and for
 * two of them where it asks for more than one. A policy that is no longer in the set asks for one person.
 * Source: api.md §6; policies.md §3 rule 8.
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
