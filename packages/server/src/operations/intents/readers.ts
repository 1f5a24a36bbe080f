/** Who reads a decision: agents do not get the values of stored and pulled facts, people do. See docs/decisions/0040. */
import { isDeepStrictEqual } from "node:util";
import { type Decision, idPrefixes, onlySubmits } from "@countersign/contract";
import type { Decided } from "@countersign/core";
import type { ToldOthers } from "../../store/intents/intents.ts";
import type { Caller } from "../shared/caller.ts";

/** Whether this caller only submits: a key of role agent or host, one of scope agent, or a person with the role agent. */
export function isAgent({ role, scope }: Pick<Caller, "role" | "scope">): boolean {
  return onlySubmits(role) || scope === "agent";
}

/**
 * Whether this caller is certainly told what the submitter was told: it is the same chain of keys, whose role never changes. The
 * role of a person can change.
 */
export function isToldAsSubmitter({ lineage_id }: Pick<Caller, "lineage_id">, submitter: string | null): boolean {
  return lineage_id === submitter && lineage_id?.startsWith(idPrefixes.user) !== true;
}

/** Returns what readers of the other kind are told otherwise; undefined: all readers are told the same. */
export function toldOthers(
  submitter: Pick<Caller, "role" | "scope">,
  { content, reasons_for_agents }: Pick<Decided, "content" | "reasons_for_agents">,
): ToldOthers | undefined {
  const to = isAgent(submitter) ? "people" : "agents";
  const [own, others] = to === "people" ? [reasons_for_agents, content.reasons] : [content.reasons, reasons_for_agents];
  if (own === others) return undefined;
  const differing = others.flatMap(({ message, unknown_facts }, at): [number, ToldOthers["reasons"][number]][] => {
    const same = message === own[at]?.message && isDeepStrictEqual(unknown_facts, own[at]?.unknown_facts);
    return same ? [] : [[at, { message, unknown_facts }]];
  });
  // Agents are also told no change that rests on what they do not get, whatever the reasons say.
  return differing.length === 0 && to === "people" ? undefined : { to, reasons: Object.fromEntries(differing) };
}

/** Returns the decision as this caller is told it. `told_others`: as stored with the intent. */
export function toldTo<D extends Decision>(
  caller: Pick<Caller, "role" | "scope">,
  decision: D,
  told_others: ToldOthers | undefined,
): D {
  if (told_others === undefined || (told_others.to === "agents") !== isAgent(caller)) return decision;
  const reasons = decision.reasons.map((reason, at) => ({ ...reason, ...told_others.reasons[at] }));
  // What the submitter could change may rest on the values that agents do not get.
  return told_others.to === "agents" ? { ...decision, reasons, would_approve_if: null } : { ...decision, reasons };
}
