import { type Decision, foldName } from "@countersign/contract";
import { type Decided, type DecideInput, faultAt, isReturnable } from "@countersign/core";
import type { Caller } from "../shared/caller.ts";
import type { DecidingMembrane, OrgState } from "../shared/node-services.ts";
import type { FactSources } from "./gather-facts.ts";

export interface Asked extends FactSources {
  readonly asked_mode: "shadow" | undefined;
}

/** Returns what the rules decide on, without counters. `gathered`: see `gatherFacts`. */
export function decideInput(
  { caller, state, submission, asked_mode }: Asked,
  deciding: DecidingMembrane,
  { now_us, facts }: Pick<DecideInput, "now_us" | "facts">,
): DecideInput {
  const { intent } = submission;
  const { membrane, policySet } = deciding;
  return {
    intent,
    facts,
    policySet,
    membrane,
    mode: pipelineMode(caller, asked_mode, deciding, intent.agent.id),
    now_us,
    attested: attests(caller),
    agents_with_facts: state.agentsWithFacts(),
    freezes: state.freezes.of({ agent_id: intent.agent.id, lineage_id: caller.lineage_id, facts }),
  };
}

/** Faults: not_found and state_conflict (a draft). */
export function membraneOf(state: OrgState, membrane_id: string | undefined): DecidingMembrane {
  const deciding = state.membrane(membrane_id);
  if (deciding === undefined) {
    throw faultAt("not_found", "/membrane_id", "not_found", "There is no such membrane.");
  }
  if (deciding.membrane.status === "draft") {
    throw faultAt(
      "state_conflict",
      "/membrane_id",
      "draft",
      "The membrane is a draft; it decides nothing until it goes to shadow or live.",
    );
  }
  return deciding;
}

type Speaking = Pick<Caller, "environment" | "agent_id" | "bindings">;

/**
 * Returns the mode. Test keys always decide in test mode. Key, request, membrane or the membrane's rollout can ask for
 * shadow mode.
 */
export function pipelineMode(
  caller: Speaking,
  asked: "shadow" | undefined,
  { membrane, unenforced }: Pick<DecidingMembrane, "membrane" | "unenforced">,
  agent_id: string,
): Decision["pipeline_mode"] {
  const { environment } = caller;
  if (environment === "test") return "test";
  if (environment === "shadow" || asked === "shadow" || membrane.status === "shadow") return "shadow";
  const agent = foldName(agent_id);
  return unenforced.has(agent) && isKeyOf(caller, agent) ? "shadow" : "live";
}

/** Returns true if the guard of a rollout returned this hold to shadow. */
export function isReturned(
  caller: Speaking,
  deciding: DecidingMembrane,
  { intent, mode }: DecideInput,
  decided: Decided,
): boolean {
  const { unenforced, unheld, policySet, membrane } = deciding;
  if (unheld === unenforced || mode !== "live" || !isReturnable(decided, policySet)) return false;
  return pipelineMode(caller, undefined, { membrane, unenforced: unheld }, intent.agent.id) === "shadow";
}

/** Returns true if the key is bound to this agent alone, so that its holder cannot choose an agent that is not enforced. */
function isKeyOf({ agent_id, bindings }: Speaking, agent: string): boolean {
  if (agent_id !== null) return foldName(agent_id) === agent;
  return bindings?.agents?.size === 1 && bindings.agents.has(agent);
}

function attests(caller: Caller): boolean {
  return caller.role === "admin" || caller.role === "operator" || caller.role === "reviewer";
}

/** Returns what the agent may do now. Shadow mode holds nothing. Null while an escalation is open. */
export function outcomeOf(verdict: Decision["verdict"], mode: Decision["pipeline_mode"]): Decision["outcome"] {
  if (mode === "shadow") return "approve";
  return verdict === "escalate" ? null : verdict;
}
