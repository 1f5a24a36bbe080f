import { hash } from "node:crypto";
import { canonicalJson } from "./canonical-json.ts";

/** `type` is the decided type, after the membrane's catalogue. */
export interface ActionIdentity {
  readonly org_id: string;
  readonly membrane_id: string;
  readonly agent_id: string;
  /** Folded ids of parent agents, nearest first. */
  readonly ancestors?: readonly string[];
  readonly type: string;
  readonly verb: string;
  readonly target: Readonly<Record<string, unknown>> | null;
  readonly content: Readonly<Record<string, unknown>> | null;
}

/**
 * Returns 64 lower-case hex digits, independent of the order of keys and the spelling of numbers. Summary, context,
 * impact and idempotency key do not count.
 */
export function actionFingerprint(action: ActionIdentity): string {
  const { org_id, membrane_id, agent_id, ancestors = [], type, verb, target, content } = action;
  const above = ancestors.length === 0 ? {} : { ancestors };
  return sha256Hex(canonicalJson({ agent_id, ...above, content, membrane_id, org_id, target, type, verb }));
}

/** Returns lower-case hex. */
export function sha256Hex(text: string): string {
  return hash("sha256", text);
}
