import type { GoLiveInput, Membrane, MembraneLive, NotReady } from "@countersign/contract";
import { Fault, faultAt } from "@countersign/core";
import { readOrganizationSettings } from "../../store/organizations/organizations.ts";
import type { Caller } from "../shared/caller.ts";
import { type MoveDeps, moveMembrane } from "./move-membrane.ts";

type Live = Pick<MembraneLive, "membrane" | "moved">;

/**
 * Starts to enforce a membrane's decisions. `not_ready`: why the membrane was not ready; kept in the audit record. Settings
 * of the organization can refuse that, ask for the membrane's name, or ask for a second person. Faults: not_found,
 * invalid_request (the name), state_conflict (live already, not ready, the same person again), those of refuseEnded, unavailable.
 */
export function goLive(
  runtime: MoveDeps,
  caller: Caller,
  membrane_id: string,
  { name, reason }: GoLiveInput,
  not_ready: readonly NotReady[],
): Promise<Live> {
  const more = { not_ready: not_ready.map(({ code, message }) => ({ code, message })) };
  const move = { to: "live", type: "membrane_went_live", reason: reason ?? null, more } as const;
  return moveMembrane(runtime, caller, membrane_id, move, async (query, membrane) => {
    const { go_live_needs_name, go_live_needs_ready } = await readOrganizationSettings(query, caller.org_id);
    refuseWrongName(membrane, name, go_live_needs_name);
    if (go_live_needs_ready) refuseUnready(not_ready);
  });
}

function refuseWrongName(membrane: Membrane, name: string | undefined, is_needed: boolean): void {
  if (name === undefined && is_needed)
    throw faultAt(
      "invalid_request",
      "/name",
      "required",
      "Send the membrane's name, to confirm that this one is meant.",
    );
  if (name !== undefined && name !== membrane.name)
    throw faultAt("invalid_request", "/name", "not_allowed", "This is not the name of the membrane.");
}

function refuseUnready(not_ready: readonly NotReady[]): void {
  if (not_ready.length === 0) return;
  const details = not_ready.map(({ message, next_step }) => ({
    ...{ path: "", code: "not_ready", message: `${message} ${next_step}` },
  }));
  throw new Fault("state_conflict", { details });
}
