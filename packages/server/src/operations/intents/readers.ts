/**
 * Words a decision for its reader. Agents do not get the values of stored and pulled facts. See docs/decisions/0040.
 */
import { isDeepStrictEqual } from "node:util";
import { type Decision, idPrefixes, onlySubmits } from "@countersign/contract";
import type { Decided } from "@countersign/core";
import type { OtherWording } from "../../store/intents/intents.ts";
import type { Caller } from "../shared/caller.ts";

/** Returns true for keys of role agent or host, keys of scope agent, and people with the role agent. */
export function isAgent({ role, scope }: Pick<Caller, "role" | "scope">): boolean {
  return onlySubmits(role) || scope === "agent";
}

/**
 * Returns true if caller and submitter are the same chain of keys. A chain's role never changes; a person's role can.
 */
export function getsSubmittersWording({ lineage_id }: Pick<Caller, "lineage_id">, submitter: string | null): boolean {
  return lineage_id === submitter && lineage_id?.startsWith(idPrefixes.user) !== true;
}

export function otherWording(
  submitter: Pick<Caller, "role" | "scope">,
  { content, reasons_for_agents }: Pick<Decided, "content" | "reasons_for_agents">,
): OtherWording | undefined {
  const to = isAgent(submitter) ? "people" : "agents";
  const [own, others] = to === "people" ? [reasons_for_agents, content.reasons] : [content.reasons, reasons_for_agents];
  if (own === others) return undefined;
  const differing = others.flatMap(({ message, unknown_facts }, at): [number, OtherWording["reasons"][number]][] => {
    const same = message === own[at]?.message && isDeepStrictEqual(unknown_facts, own[at]?.unknown_facts);
    return same ? [] : [[at, { message, unknown_facts }]];
  });
  // Agents get no `would_approve_if`, which may reveal hidden values. So agents need an entry even without reasons.
  return differing.length === 0 && to === "people" ? undefined : { to, reasons: Object.fromEntries(differing) };
}

export function wordedFor<D extends Decision>(
  caller: Pick<Caller, "role" | "scope">,
  decision: D,
  other_wording: OtherWording | undefined,
): D {
  if (other_wording === undefined || (other_wording.to === "agents") !== isAgent(caller)) return decision;
  const reasons = decision.reasons.map((reason, at) => ({ ...reason, ...other_wording.reasons[at] }));
  return other_wording.to === "agents" ? { ...decision, reasons, would_approve_if: null } : { ...decision, reasons };
}
