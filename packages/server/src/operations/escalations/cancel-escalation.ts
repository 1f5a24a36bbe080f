import type { CancelInput, Escalation } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { identityOf } from "../people/identity.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { demandCurrentKey, untilFresh } from "../shared/stale.ts";
import { lockReview, readAction, shownText, takeStep } from "./review-steps.ts";

/** Cancels a review. Its action stays blocked. Faults: not_found, escalation_closed, unavailable. */
export async function cancelEscalation(
  runtime: Pick<Runtime, "db" | "ids" | "callers" | "deliveries">,
  caller: Caller,
  escalation_id: string,
  input: CancelInput,
): Promise<Escalation> {
  const record = await untilFresh(runtime, caller, (current) =>
    runtime.db.tenant(caller.org_id, (query) => cancelReview(runtime, query, current, escalation_id, input)),
  );
  runtime.deliveries.wake(caller.org_id);
  return record;
}

async function cancelReview(
  runtime: Pick<Runtime, "ids">,
  query: Query,
  caller: Caller,
  escalation_id: string,
  { reason }: CancelInput,
): Promise<Escalation> {
  const { org_id, actor } = caller;
  const { person: by } = await identityOf(query, org_id, caller.lineage_id);

  const locked = await lockReview(query, org_id, escalation_id);
  demandCurrentKey(locked.head, caller);
  const { review, at } = locked;
  const comment =
    reason === undefined ? null : shownText({ review, intent: await readAction(query, org_id, review) }, reason);
  return takeStep(runtime, query, locked, { kind: "cancel", by, comment, at }, { actor, type: null });
}
