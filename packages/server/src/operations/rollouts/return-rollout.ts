import type { Rollout, RolloutReturn } from "@countersign/contract";
import { faultAt } from "@countersign/core";
import { readOrganizationSettings } from "../../store/organizations/organizations.ts";
import { presentPerson } from "../people/identity.ts";
import type { Caller } from "../shared/caller.ts";
import {
  beginsRun,
  type Changed,
  changeRollout,
  demandRollout,
  type Found,
  type RolloutDeps,
} from "./change-rollout.ts";
import { shareOf } from "./shown-rollout.ts";

/**
 * Returns a rollout to an earlier stage, and stops it there. If going live needs two people, the first call is a
 * request, and a second person must ask for the same stage. Faults: not_found, state_conflict (not an earlier stage, or the same person again).
 */
export async function returnRollout(
  runtime: RolloutDeps,
  caller: Caller,
  membrane_id: string,
  input: RolloutReturn,
): Promise<Rollout> {
  const { org_id } = caller;
  const returned = await changeRollout(runtime, caller, membrane_id, (found) => takeBack(org_id, found, input));
  return returned as Rollout;
}

async function takeBack(org_id: string, found: Found, { stage, reason }: RolloutReturn): Promise<Changed> {
  const { query, person, at } = found;
  const before = demandRollout(found);
  // An arrived rollout enforces all agents, whatever the share of its last stage.
  if (stage > before.stage || (stage === before.stage && before.status !== "arrived"))
    throw refusal("This is not an earlier stage. In the first one, return the membrane to shadow.");
  const first = before.requested_return?.stage === stage ? before.requested_return.requested_by : null;
  const { go_live_needs_second_person: needs_two } = await readOrganizationSettings(query, org_id);
  if (needs_two && first !== null && (await presentPerson(query, org_id, first)) === person)
    throw refusal("A second, different person must ask for this stage, too.");
  if (needs_two && first === null) {
    const requested_return = { stage, reason, requested_by: person, requested_at: at };
    return { row: { ...before, requested_return }, type: "rollout_return_requested", data: { stage, reason } };
  }
  const row = { ...before, ...beginsRun, stage, holds_stage: null, status: "stopped" } as const;
  const confirmed = needs_two ? { requested_by: first } : {};
  return { row, type: "rollout_returned", data: { stage, share: shareOf(row), reason, ...confirmed } };
}

function refusal(message: string) {
  return faultAt("state_conflict", "/stage", "not_allowed", message);
}
