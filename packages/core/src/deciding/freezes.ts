/** Freezes stop the actions of an agent, a key or an organization (docs/decisions/0034-freezes.md). */
import { foldName, type Reason } from "@countersign/contract";
import { type Parents, registeredAbove } from "../access/ancestors.ts";
import type { MergedFacts } from "../facts/merge.ts";
import { clipMessage } from "../policy/message.ts";
import { withoutTexts } from "../values/redacted-texts.ts";
import type { EscalationTerms, StandingFreeze } from "./decision.ts";

export interface FreezableActor {
  readonly agent_id: string;
  /** Null in open mode. */
  readonly lineage_id: string | null;
  /** Source of ancestors. Registered ones count without it. */
  readonly facts?: Pick<MergedFacts, "ancestors">;
}

export interface Freezes {
  of(actor: FreezableActor): readonly StandingFreeze[];
}

const none: readonly never[] = Object.freeze([]);

/** A freeze of an agent also stops the agents below it. */
export function freezesOf(standing: readonly StandingFreeze[], parents: Parents): Freezes {
  if (standing.length === 0) return { of: () => none };
  const everywhere = standing.filter(({ kind }) => kind === "organization");
  const byAgent = new Map<string, StandingFreeze>();
  const byLineage = new Map<string, StandingFreeze[]>();
  for (const freeze of standing) {
    if (freeze.kind === "agent") byAgent.set(freeze.subject, freeze);
    for (const lineage of freeze.lineages) byLineage.set(lineage, [...(byLineage.get(lineage) ?? []), freeze]);
  }
  return {
    of({ agent_id, lineage_id, facts }) {
      const keys = (lineage_id === null ? undefined : byLineage.get(lineage_id)) ?? none;
      if (byAgent.size === 0) return [...everywhere, ...keys];
      const agents = new Set(
        [agent_id, ...registeredAbove(parents, agent_id), ...(facts?.ancestors ?? none).map(({ id }) => id)].map(
          foldName,
        ),
      );
      return [...everywhere, ...keys, ...[...agents].flatMap((agent) => byAgent.get(agent) ?? none)];
    },
  };
}

/** No override cancels it. */
export function freezeReasonName({ kind }: Pick<StandingFreeze, "kind">): string {
  return `freeze.${kind}`;
}

/** Policies have an id, so none can imitate a freeze. */
export function isFreezeReason({ policy_id, policy }: Pick<Reason, "policy_id" | "policy">): boolean {
  return policy_id === null && policy.startsWith("freeze.");
}

export function freezeText({ kind, name, frozen_by, frozen_at, reason }: StandingFreeze): string {
  const what = kind === "organization" ? "The organization" : `The ${kind} ${name}`;
  return `${what} is frozen by ${frozen_by} since ${frozen_at}: ${reason}`;
}

export function freezeReason(freeze: StandingFreeze, redacted: readonly string[]): Reason {
  const message = clipMessage(withoutTexts(freezeText(freeze), redacted));
  const about = { policy_id: null, policy: freezeReasonName(freeze), version: null };
  return { ...about, effect: freeze.mode, message, citations: [], unknown_facts: [] };
}

/**
 * Adds the terms of freezes: an admin must approve, and a timeout blocks. `else_holds`: the action would also be held
 * without freezes.
 */
export function underFreezes(
  terms: EscalationTerms,
  freezes: readonly StandingFreeze[],
  else_holds: boolean,
): EscalationTerms {
  if (freezes.length === 0) return terms;
  const admins = freezes.map((freeze) => ({
    policy: freezeReasonName(freeze),
    reviewers: [{ type: "role" as const, id: "admin" }],
    quorum: 1,
  }));
  return { ...terms, demands: else_holds ? [...terms.demands, ...admins] : admins, on_timeout: "block" };
}
