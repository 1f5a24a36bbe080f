/** Checks whether a caller may submit an action, before it is decided. */
import type { IntentSubmission } from "@countersign/contract";
import { type Fault, faultAt } from "@countersign/core";
import type { Runtime } from "../runtime.ts";
import { agentRefusal, membraneRefusal, modeRefusal, sourceRefusal } from "../shared/bindings.ts";
import type { Caller } from "../shared/caller.ts";
import type { OrgState } from "../shared/node-services.ts";

export interface AskedSubmission {
  readonly submission: IntentSubmission;
  readonly mode: "shadow" | undefined;
  readonly client_ip: () => string;
}

/** Faults: forbidden (a key of another agent), unavailable (this node's clock is far off). */
export function demandAbleTo(
  { clockWatch }: Pick<Runtime, "clockWatch">,
  { agent_id }: Pick<Caller, "agent_id">,
  { submission }: Pick<AskedSubmission, "submission">,
): void {
  if (agent_id !== null && agent_id !== submission.intent.agent.id) {
    const message = `This key speaks for the agent ${JSON.stringify(agent_id)} only.`;
    throw faultAt("forbidden", "/intent/agent/id", "agent", message);
  }
  if (clockWatch.isFarOff()) {
    const message =
      "The clock of this node is too far from the database's time. Send the intent again later, or to another node.";
    throw faultAt("unavailable", "", "clock", message);
  }
}

/** Null: the bindings of the key allow the submission. */
export function bindingRefusal(
  caller: Caller,
  state: OrgState,
  { submission, mode, client_ip }: AskedSubmission,
): Fault | null {
  if (caller.bindings === null) return null;
  const membrane_id = submission.membrane_id ?? state.membrane(undefined)?.membrane.membrane_id ?? null;
  return (
    sourceRefusal(caller, client_ip()) ??
    modeRefusal(caller, mode) ??
    agentRefusal(caller, submission.intent.agent.id, "/intent/agent/id", state.parents) ??
    membraneRefusal(caller, membrane_id, "/membrane_id")
  );
}
