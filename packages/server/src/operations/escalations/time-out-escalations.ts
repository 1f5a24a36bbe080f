import type { Decision, Escalation } from "@countersign/contract";
import { canonicalJson, type DecidableIntent, decide, Fault, type ReviewStep, type Ruling } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { isUnanswered } from "../../store/database/connection.ts";
import { type DueEscalation, readDueEscalations } from "../../store/escalations/escalations.ts";
import { readIntent } from "../../store/intents/intents.ts";
import type { Head } from "../../store/organizations/heads.ts";
import type { Runtime } from "../runtime.ts";
import type { OrgState } from "../shared/org-state.ts";
import { untilCurrent } from "../shared/until-current.ts";
import { changeEscalation, demandInForce, inputAgain, rulingOf } from "./change-escalation.ts";

type Needed = Pick<Runtime, "db" | "ids" | "log" | "deliveries" | "orgStates">;

/** So many take a third of a second; then it is seen whose else are due. */
const batch_rows = 50;

/**
 * Closes the reviews whose time is over, at most 50 in one go, in turns from organization to organization; true: there may be
 * more. What another node or a step of the same moment was first with is passed over, as the database's clock decides each
 * one, and so is what cannot be closed: both are added to `passed_over`, and what stands there is left alone. So is the rest of
 * an organization for a session of which one of them has waited in vain: each would wait for seconds again, and everybody
 * else's for all of them. Source: api.md §6.
 */
export async function timeOutEscalations(runtime: Needed, passed_over: string[]): Promise<boolean> {
  const due = await runtime.db.system((query) => readDueEscalations(query, batch_rows, passed_over));
  let closed = 0;
  const out_of_reach = new Set<string>();
  for (const each of due) {
    const { org_id, escalation_id } = each;
    if (out_of_reach.has(org_id)) {
      passed_over.push(escalation_id);
      continue;
    }
    // Each in a transaction of its own: one that cannot be closed must not keep the others open.
    try {
      await timeOut(runtime, each);
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

async function timeOut(runtime: Needed, { org_id, escalation_id, approves }: DueEscalation): Promise<void> {
  const close = (rulingAt: (query: Query, head: Head, record: Escalation) => Promise<Ruling | null>) =>
    runtime.db.tenant(org_id, (query) =>
      changeEscalation(
        runtime,
        query,
        org_id,
        escalation_id,
        { actor: "system", type: null },
        async (at, head, { record }): Promise<ReviewStep> => {
          return { kind: "time_over", ruling: await rulingAt(query, head, record), at };
        },
      ),
    );
  if (!approves) await close(async () => null);
  else
    await untilCurrent(async () => {
      const state = await runtime.orgStates.get(org_id);
      await close(async (query, head, record) => {
        await demandInForce(runtime, query, org_id, head, state);
        return letThrough(query, org_id, state, record.intent_id);
      });
    });
}

/**
 * What nobody has looked at is let through as; null: it is not. No person answers for it, so the rules of now have to let
 * it through as they did: the membrane still allows approval by time, and on the facts and at the time of the decision
 * no policy blocks the action, forbids such an approval or changes it in another way.
 */
async function letThrough(query: Query, org_id: string, state: OrgState, intent_id: string): Promise<Ruling | null> {
  const row = await readIntent(query, org_id, intent_id);
  if (row === undefined) throw new Error(`${intent_id} is not stored`);
  const input = inputAgain(state, row);
  if (input.membrane.escalation.on_timeout !== "approve") return null;
  const { submitted, attested } = row.intent as { submitted: DecidableIntent; attested?: boolean };
  const { content, escalation } = decide({ ...input, intent: submitted, attested: attested === true });
  if (content.verdict === "block" || escalation?.on_timeout === "block") return null;
  const ruling = rulingOf(row.decision as unknown as Decision);
  const again = rulingOf(content);
  return canonicalJson(again) === canonicalJson(ruling) ? ruling : null;
}
