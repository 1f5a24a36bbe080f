import type { Decision } from "@countersign/contract";
import { Fault } from "@countersign/core";
import { type DueEscalation, readDueEscalations } from "../store/escalations.ts";
import { readFirstAnswer } from "../store/intents.ts";
import { changeEscalation, rulingOf } from "./change-escalation.ts";
import type { Runtime } from "./runtime.ts";

const batch_rows = 200;

/**
 * Closes the reviews whose time is over, at most 200 in one go, beginning behind `after`; answers behind which there may
 * be more, null when there are none. What another node or a step of the same moment was first with is passed over: the
 * database's clock decides each one. Source: api.md §6.
 */
export async function timeOutEscalations(
  runtime: Pick<Runtime, "db" | "ids" | "log" | "deliveries">,
  after: DueEscalation | null,
): Promise<DueEscalation | null> {
  const due = await runtime.db.system((query) => readDueEscalations(query, batch_rows, after));
  let closed = 0;
  for (const { org_id, escalation_id } of due) {
    // Each in a transaction of its own: one that cannot be closed must not keep the others open.
    try {
      await runtime.db.tenant(org_id, (query) =>
        changeEscalation(
          runtime,
          query,
          org_id,
          escalation_id,
          { actor: "system", type: null },
          async (at, _head, review) => {
            const text = await readFirstAnswer(query, org_id, review.record.intent_id);
            return { kind: "time_over", ruling: rulingOf(JSON.parse(text) as Decision), at };
          },
        ),
      );
      closed += 1;
    } catch (error) {
      if (!(error instanceof Fault && error.code === "escalation_closed"))
        runtime.log.error({ err: error, escalation_id }, "an escalation could not be timed out");
    }
  }
  if (closed > 0) runtime.deliveries.poke();
  return due[batch_rows - 1] ?? null;
}
