import { Fault, parseTimestampUs, timeOutRuling } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { isUnanswered } from "../../store/database/connection.ts";
import { type DueEscalation, readDueEscalations } from "../../store/escalations/escalations.ts";
import { CountsNow } from "../counters/counts-now.ts";
import { isFrozen } from "../freezes/frozen.ts";
import type { Runtime } from "../runtime.ts";
import type { OrgState } from "../shared/node-services.ts";
import { readPresent } from "../shared/present.ts";
import { attempts_max, demandRulesInForce, stale, staleEachTime, unlessStale } from "../shared/stale.ts";
import { lockReview, readAction, takeStep } from "./review-steps.ts";

/** Reviews per pass: 50 take about 0.3 s, then other organizations get their turn. */
const batch_rows = 50;

/**
 * Closes at most 50 expired reviews, taking turns between organizations. Returns true if there may be more.
 *
 * Reviews that cannot be closed, or that another node closed, are added to `passed_over`, which later passes skip. If
 * the database does not answer for one, the organization's others are skipped too, because each would wait for seconds.
 */
export async function timeOutEscalations(
  runtime: Pick<Runtime, "db" | "ids" | "log" | "deliveries" | "orgStates">,
  passed_over: string[],
): Promise<boolean> {
  const due = await runtime.db.system((query) => readDueEscalations(query, batch_rows, passed_over));
  const out_of_reach = new Set<string>();
  for (const each of due) {
    const { org_id, escalation_id } = each;
    if (out_of_reach.has(org_id)) {
      passed_over.push(escalation_id);
      continue;
    }
    try {
      await timeOut(runtime, each);
      runtime.deliveries.wake(org_id);
    } catch (error) {
      passed_over.push(escalation_id);
      if (isUnanswered(error)) out_of_reach.add(org_id);
      if (!(error instanceof Fault && error.code === "escalation_closed"))
        runtime.log.error({ err: error, escalation_id }, "an escalation could not be timed out");
    }
  }
  return due.length === batch_rows;
}

async function timeOut(runtime: Pick<Runtime, "db" | "ids" | "orgStates">, due: DueEscalation): Promise<void> {
  const { org_id, approves } = due;
  for (let attempt = 1; attempt <= attempts_max; attempt += 1) {
    const state = approves ? await runtime.orgStates.get(org_id) : null;
    const closed = await unlessStale(runtime.db.tenant(org_id, (query) => closeReview(runtime, query, due, state)));
    if (closed !== stale) return;
  }
  throw staleEachTime();
}

/** `state`: the rules by which the timeout may approve; null: it blocks. */
async function closeReview(
  runtime: Pick<Runtime, "ids" | "orgStates">,
  query: Query,
  { org_id, escalation_id }: DueEscalation,
  state: OrgState | null,
): Promise<void> {
  const locked = await lockReview(query, org_id, escalation_id);
  let ruling = null;
  if (state !== null) {
    await demandRulesInForce(runtime, query, org_id, locked.head, state);
    const action = await readAction(query, org_id, locked.review);
    const frozen = await isFrozen(query, org_id, action);
    const { mode, intent_id } = action;
    const counts = new CountsNow({ org_id, mode, own: [intent_id], now_us: parseTimestampUs(locked.at) ?? 0 });
    const present = { ...(await readPresent(query, org_id, action, state, locked.at)), counts };
    ruling = frozen ? null : await counts.settle(query, () => timeOutRuling(action, present));
  }
  const step = { kind: "time_over", ruling, at: locked.at } as const;
  await takeStep(runtime, query, locked, step, { actor: "system", type: null });
}
