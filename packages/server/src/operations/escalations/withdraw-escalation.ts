import type { CancelInput, Decision } from "@countersign/contract";
import { Fault, faultAt } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { decisionFor, maySee } from "../intents/read-intents.ts";
import type { Runtime } from "../runtime.ts";
import { demandBoundAction } from "../shared/bindings.ts";
import { type Caller, open_mode_actor } from "../shared/caller.ts";
import { demandCurrentKey, untilFresh } from "../shared/stale.ts";
import { lockReview, readAction, shownText, takeStep } from "./review-steps.ts";

/**
 * Withdraws a review for the key that submitted the action, or a rotation of it. Withdrawing again returns the same
 * decision. Faults: not_found (also if an agent's key may not see the action), forbidden (another caller),
 * escalation_closed, unavailable.
 */
export async function withdrawEscalation(
  runtime: Pick<Runtime, "db" | "ids" | "callers" | "deliveries">,
  caller: Caller,
  escalation_id: string,
  input: CancelInput,
): Promise<Decision> {
  const decision = await untilFresh(runtime, caller, (current) =>
    runtime.db.tenant(caller.org_id, (query) => withdrawReview(runtime, query, current, escalation_id, input)),
  );
  runtime.deliveries.wake(caller.org_id);
  return decision;
}

async function withdrawReview(
  runtime: Pick<Runtime, "ids">,
  query: Query,
  caller: Caller,
  escalation_id: string,
  { reason }: CancelInput,
): Promise<Decision> {
  const { org_id, lineage_id, key_id, actor } = caller;
  const locked = await lockReview(query, org_id, escalation_id);
  demandCurrentKey(locked.head, caller);
  const { review, at } = locked;
  const intent = await readAction(query, org_id, review);
  if (!maySee(caller, intent)) throw new Fault("not_found");
  await demandBoundAction(query, caller, intent);
  if (intent.lineage_id !== lineage_id) {
    const message =
      "Only the key that submitted the action can withdraw it, or a rotation of that key. Operators can cancel it.";
    throw faultAt("forbidden", "", "not_allowed", message);
  }
  if (review.record.withdrawn_by === undefined) {
    const by = lineage_id ?? open_mode_actor;
    const comment = shownText({ review, intent }, reason);
    const step = { kind: "cancel", by, comment, withdrawn_by: key_id ?? by, at } as const;
    await takeStep(runtime, query, locked, step, { actor, type: null });
  }
  return decisionFor(caller, await readAction(query, org_id, review));
}
