import type { Decision } from "@countersign/contract";
import { Fault } from "@countersign/core";
import type { Query } from "../ports.ts";
import { isUnanswered } from "../store/connection.ts";
import { readDueEscalations } from "../store/escalations.ts";
import { readFirstAnswer } from "../store/intents.ts";
import { readMembrane } from "../store/membranes.ts";
import { changeEscalation, rulingOf } from "./change-escalation.ts";
import type { Runtime } from "./runtime.ts";

/** So many take a third of a second; then it is seen whose else are due. */
const batch_rows = 50;

/**
 * Closes the reviews whose time is over, at most 50 in one go, in turns from organization to organization; true: there may be
 * more. What another node or a step of the same moment was first with is passed over, as the database's clock decides each
 * one, and so is what cannot be closed: both are added to `passed_over`, and what stands there is left alone. So is the rest of
 * an organization for a session of which one of them has waited in vain: each would wait for seconds again, and everybody
 * else's for all of them. Only where the membrane allows it now does the end of the time approve anything. Source: api.md §6.
 */
export async function timeOutEscalations(
  runtime: Pick<Runtime, "db" | "ids" | "log" | "deliveries">,
  passed_over: string[],
): Promise<boolean> {
  const due = await runtime.db.system((query) => readDueEscalations(query, batch_rows, passed_over));
  let closed = 0;
  const out_of_reach = new Set<string>();
  for (const { org_id, escalation_id } of due) {
    if (out_of_reach.has(org_id)) {
      passed_over.push(escalation_id);
      continue;
    }
    // Each in a transaction of its own: one that cannot be closed must not keep the others open.
    try {
      await runtime.db.tenant(org_id, (query) =>
        changeEscalation(
          runtime,
          query,
          org_id,
          escalation_id,
          { actor: "system", type: null },
          async (at, _head, { record: { intent_id, membrane_id, on_timeout } }) => {
            const approves = on_timeout === "approve" && (await allowsApproval(query, org_id, membrane_id));
            if (!approves) return { kind: "time_over", ruling: null, at };
            const text = await readFirstAnswer(query, org_id, intent_id);
            return { kind: "time_over", ruling: rulingOf(JSON.parse(text) as Decision), at };
          },
        ),
      );
      closed += 1;
    } catch (error) {
      passed_over.push(escalation_id);
      if (isUnanswered(error)) out_of_reach.add(org_id);
      if (!(error instanceof Fault && error.code === "escalation_closed"))
        runtime.log.error({ err: error, escalation_id }, "an escalation could not be timed out");
    }
  }
  if (closed > 0) runtime.deliveries.poke();
  return due.length === batch_rows;
}

/** Whether the membrane lets the end of the time approve. Exact under the head's lock. */
async function allowsApproval(query: Query, org_id: string, membrane_id: string): Promise<boolean> {
  return (await readMembrane(query, org_id, membrane_id))?.escalation.on_timeout === "approve";
}
