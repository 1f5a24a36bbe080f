import type { BlockedTools, BlockedToolsInput } from "@countersign/contract";
import { alwaysBlocks } from "@countersign/core";
import { membraneOf, pipelineMode } from "../intents/decide-input.ts";
import type { Runtime } from "../runtime.ts";
import { agentRefusal, membraneRefusal } from "../shared/bindings.ts";
import type { Caller } from "../shared/caller.ts";

/**
 * Returns the tools whose calls are always blocked for the agent, each with a rule that blocks it. In shadow mode
 * nothing is blocked. Faults: forbidden (the key is bound to other agents or membranes), not_found, state_conflict.
 */
export async function findBlockedTools(
  runtime: Pick<Runtime, "clock" | "orgStates">,
  caller: Pick<Caller, "org_id" | "agent_id" | "bindings" | "environment">,
  { agent_id, verbs, membrane_id }: BlockedToolsInput,
): Promise<BlockedTools["blocked"]> {
  const { orgStates, clock } = runtime;
  const kept = await orgStates.get(caller.org_id);
  const state = (await orgStates.isOutdated(caller.org_id, kept)) ? await orgStates.get(caller.org_id) : kept;
  const deciding = membraneOf(state, membrane_id);
  const { membrane, policySet } = deciding;
  const refusal =
    agentRefusal(caller, agent_id, "/agent_id", state.parents) ??
    membraneRefusal(caller, membrane.membrane_id, "/membrane_id");
  if (refusal !== null) throw refusal;
  if (pipelineMode(caller, undefined, deciding, agent_id) === "shadow") return [];
  const now_us = clock.now_us();
  return verbs.flatMap((verb) => {
    const policy = alwaysBlocks(policySet, membrane, { agent_id, verb }, now_us);
    return policy === null ? [] : [{ verb, policy }];
  });
}
