import { foldName } from "@countersign/contract";
import { sha256Hex } from "../values/fingerprint.ts";

/** Hex digits of the hash that are used: a number below 2 to the power of 48, which a double holds exactly. */
const digits = 12;

/**
 * Returns true if the rollout enforces decisions for this agent. The place of an agent depends on the salt alone, so an
 * agent that is enforced at one share is enforced at each greater share.
 */
export function isEnforced(agent_id: string, salt: string, share: number): boolean {
  const place = Number.parseInt(sha256Hex(`${salt}\u001f${foldName(agent_id)}`).slice(0, digits), 16) / 16 ** digits;
  return place < share;
}
