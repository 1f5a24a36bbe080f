import type { MembraneReturned, ReturnToShadowInput } from "@countersign/contract";
import type { Caller } from "../shared/caller.ts";
import { type MoveDeps, moveMembrane } from "./move-membrane.ts";

/**
 * Stops enforcing a membrane's decisions, and mails the reason to all admins. Where going live needs a second person, this
 * does, too. Faults: not_found, state_conflict (in shadow already, the same person again), those of refuseEnded, unavailable.
 */
export function returnToShadow(
  runtime: MoveDeps,
  caller: Caller,
  membrane_id: string,
  { reason }: ReturnToShadowInput,
): Promise<MembraneReturned> {
  const move = { to: "shadow", type: "membrane_returned_to_shadow", reason, more: {} } as const;
  return moveMembrane(runtime, caller, membrane_id, move, async () => {});
}
