import {
  type AuditType,
  type Decision,
  type Observation,
  type ObservationInput,
  roleMeets,
} from "@countersign/contract";
import {
  type Contradiction,
  contradictionOf,
  Fault,
  formatTimestampUs,
  hiddenTextsInAction,
  maskedValue,
  redactedRemark,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { secondsSinceContradiction } from "../../store/audit/contradictions.ts";
import { countsOf } from "../../store/audit/state/counts-of.ts";
import { type CountsOf, changeCounted, moveCounted } from "../../store/counters/counters.ts";
import { holdApproval, readApproval } from "../../store/escalations/approvals.ts";
import { noteSettled, readClaim } from "../../store/intents/claims.ts";
import { currentDecision, readDecision, readIntent } from "../../store/intents/intents.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { listPeople } from "../../store/people/people.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import { writeMail } from "../people/mail.ts";
import type { Recording, Runtime } from "../runtime.ts";
import { demandBoundAction } from "../shared/bindings.ts";
import { type Caller, shownActor } from "../shared/caller.ts";
import { idempotent } from "../shared/idempotent.ts";
import { maySee } from "./read-intents.ts";

/** Shortest time between two mails about contradictions. */
const mail_pause_s = 3_600;
const told_max = 100;

type ReportRuntime = Recording & Pick<Runtime, "sealer" | "mails" | "metrics">;

/**
 * Records what an agent reports after its decision; an intent may have any number. A report of an execution without
 * permission raises an alarm: audit row, metric, mails to operators and admins. Faults: not_found, forbidden (a key
 * that is bound elsewhere), idempotency_conflict.
 */
export async function recordObservation(
  runtime: ReportRuntime,
  caller: Caller,
  intent_id: string,
  input: ObservationInput,
  idempotency_key: string | undefined,
): Promise<OnceAnswer<Observation>> {
  const request = { params: { intent_id }, body: input };
  const admit = async (query: Query): Promise<void> => {
    const decision = await readDecision(query, caller.org_id, intent_id);
    if (decision === undefined || !maySee(caller, decision)) throw new Fault("not_found");
    await demandBoundAction(query, caller, decision);
  };
  let contradiction: Contradiction | null = null;
  const terms = { operation: "record_observation", idempotency_key, request, admit };
  const answer = await idempotent(runtime, caller, terms, async (query) => {
    const observation = await observationOf(runtime, caller, intent_id, input, query);
    contradiction = await record(runtime, caller, observation, query);
    return observation;
  });
  if (contradiction !== null) {
    runtime.metrics.contradicted(contradiction);
    runtime.mails.wake();
  }
  return answer;
}

async function observationOf(
  runtime: Pick<Runtime, "clock" | "ids">,
  caller: Caller,
  intent_id: string,
  { status, detail }: ObservationInput,
  query: Query,
): Promise<Observation> {
  const intent = detail === undefined ? undefined : await readIntent(query, caller.org_id, intent_id);
  // A detail would bring erased content back.
  const kept = intent?.erased == null ? detail : undefined;
  return {
    observation_id: runtime.ids.next("observation"),
    intent_id,
    status,
    detail: redactedRemark(maskedValue(kept ?? null, []), intent === undefined ? [] : hiddenTextsInAction(intent)),
    recorded_by: shownActor(caller.actor),
    recorded_at: formatTimestampUs(runtime.clock.now_us()),
  };
}

/** Returns why the observation contradicts the decision; null: it does not. */
async function record(
  runtime: Pick<Runtime, "ids" | "sealer">,
  caller: Caller,
  { observation_id, intent_id, status, detail, recorded_at: at }: Observation,
  query: Query,
): Promise<Contradiction | null> {
  const { org_id, actor } = caller;
  let contradiction: Contradiction | null = null;
  await withHead(query, org_id, async () => {
    const row = (type: AuditType, data: Readonly<Record<string, unknown>>) =>
      auditRow(runtime.ids, { intent_id, at, actor, type, data });
    await noteSettled(query, org_id, intent_id);
    // Under the head's lock, no review closes between this read and the commit.
    const stored = await readDecision(query, org_id, intent_id);
    if (stored === undefined) throw new Fault("not_found");
    const decision = JSON.parse(currentDecision(stored)) as Decision;
    const now = await databaseNow(query);
    const spent = status === "skipped" ? null : await spendApproval(query, org_id, decision, { at: now, actor });
    const counts_of = [...(spent ?? [])];
    if (await mayRelease(query, caller, intent_id))
      counts_of.push(
        ...(await changeCounted(query, org_id, intent_id, status === "executed" ? "executed" : "failed", null)),
      );
    const { escalation_id } = decision;
    const about = { ...(spent !== null && { escalation_id }), ...countsOf(counts_of) };
    const audit = [row("observed", { observation_id, status, detail, ...about })];
    contradiction = contradictionOf(decision, status, await hasClaimed(query, caller, intent_id), now);
    if (contradiction === null) return { audit };
    const { membrane_id, pipeline_mode: mode } = decision;
    if (mode === "live") await tellOperators(runtime, query, org_id, decision, contradiction);
    return { audit: [...audit, row("contradicted", { observation_id, because: contradiction, membrane_id, mode })] };
  });
  return contradiction;
}

/** Spends the approval, so that an action that may have been carried out is not handed on. Returns actions whose counts moved;
 * null: there was nothing to spend. */
async function spendApproval(
  query: Query,
  org_id: string,
  { intent_id, escalation_id, outcome }: Decision,
  done: { readonly at: string; readonly actor: string },
): Promise<CountsOf | null> {
  if (escalation_id === null) return null;
  const { spent } = await readApproval(query, org_id, escalation_id);
  if (spent) return null;
  // While the review is open, its first action counts.
  const moved = outcome === null ? [] : await moveCounted(query, org_id, escalation_id, intent_id);
  await holdApproval(query, org_id, escalation_id, { ...done, intent_id, spent: true });
  return moved;
}

async function hasClaimed(query: Query, { org_id, lineage_id, role }: Caller, intent_id: string): Promise<boolean> {
  const claim = await readClaim(query, org_id, intent_id);
  return claim !== undefined && (claim.lineage_id === lineage_id || roleMeets(role, ["operator"]));
}

/** Whether a report of this caller counts for counters: of a host's key that claimed the action, or of an operator. */
async function mayRelease(query: Query, caller: Caller, intent_id: string): Promise<boolean> {
  if (roleMeets(caller.role, ["operator"])) return true;
  return caller.role === "host" && (await hasClaimed(query, caller, intent_id));
}

async function tellOperators(
  runtime: Pick<Runtime, "ids" | "sealer">,
  query: Query,
  org_id: string,
  { intent_id, agent_id }: Decision,
  because: Contradiction,
): Promise<void> {
  const seconds = await secondsSinceContradiction(query, org_id);
  if (seconds !== null && seconds < mail_pause_s) return;
  for (const role of ["admin", "operator"] as const)
    for (const { email: to } of await listPeople(query, org_id, role, told_max, null))
      await writeMail(runtime, query, "contradiction", { to, intent_id, agent_id, because });
}
