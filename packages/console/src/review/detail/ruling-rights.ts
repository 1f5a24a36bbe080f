import type { Escalation } from "@countersign/contract";
import { useMay, useSession } from "../../api/session.tsx";
import { useInHands } from "../../parts/records/who.tsx";

/** `loaded`: the action is on the screen. Before that, nobody can decide. */
export function useRulingRights(escalation: Escalation, loaded: boolean) {
  const reviews = useMay("reviewer");
  const operates = useMay("operator");
  const { caller } = useSession();
  const open = escalation.status === "pending";
  const seen = open && reviews && loaded;
  const inHands = useInHands();
  const mine = inHands(escalation);
  const awaited = panelAhead(escalation.panels, inHands);
  // A person's second approval does not count. That person may still change the action, or block it.
  const approved = escalation.votes.some((vote) => vote.reviewer === caller?.person && vote.outcome === "approve");
  const others = escalation.votes.filter((vote) => vote.reviewer !== caller?.person && vote.outcome !== "block");
  // All approvals must be for the same action.
  const same = others.find((vote) => vote.modifications)?.modifications ?? null;
  return {
    /** The escalation is open and the caller has the role of a reviewer. */
    reviews: open && reviews,
    operates,
    seen,
    /** The caller is among the reviewers. */
    mine,
    can: seen && mine,
    approved,
    /** The panel that must finish before the caller may approve; null: none. Blocking needs no turn. */
    awaited,
    /** The changes that others approved; null: nobody changed the action. */
    same,
    approval: same === null ? ("approve" as const) : ("approve_same" as const),
  };
}

/** Returns the panel ahead of all panels of the caller; null if one of these has its turn, or none is known. */
function panelAhead(panels: Escalation["panels"], inHands: ReturnType<typeof useInHands>): string | null {
  const own = panels.filter(inHands);
  return own.some(({ status }) => status !== "waiting") ? null : (own[0]?.after ?? null);
}

export type RulingRights = ReturnType<typeof useRulingRights>;
