import type { CancelInput, Escalation } from "@countersign/contract";
import { readIntent } from "../../store/intents/intents.ts";
import { shownRemark, withheldInChange } from "../intents/shown-remark.ts";
import { identityOf } from "../people/identity.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { changeEscalation, demandCurrent, withCurrentCaller } from "./change-escalation.ts";

/** Ends a review without a decision; its action stays blocked. Faults: not_found, escalation_closed. Source: api.md §6. */
export async function cancelEscalation(
  runtime: Pick<Runtime, "db" | "ids" | "callers" | "deliveries">,
  caller: Caller,
  escalation_id: string,
  input: CancelInput,
): Promise<Escalation> {
  const record = await withCurrentCaller(runtime, caller, (current) =>
    runtime.db.tenant(current.org_id, async (query) => {
      const { person: by } = await identityOf(query, current.org_id, current.lineage_id);
      const audit = { actor: current.actor, type: null };
      return changeEscalation(runtime, query, current.org_id, escalation_id, audit, async (at, head, review) => {
        demandCurrent(head, current);
        const { reason } = input;
        if (reason === undefined) return { kind: "cancel", by, comment: null, at };
        const intent = await readIntent(query, current.org_id, review.record.intent_id);
        return { kind: "cancel", by, comment: shownRemark(intent, reason, withheldInChange(review.ruling)), at };
      });
    }),
  );
  runtime.deliveries.poke();
  return record;
}
