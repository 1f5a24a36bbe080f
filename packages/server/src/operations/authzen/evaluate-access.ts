/** Answers evaluations of AuthZEN with the operations on intents. See docs/decisions/0049-authzen.md. */
import type { AccessDecision, AccessEvaluation, Decision } from "@countersign/contract";
import {
  authzenDecision,
  authzenIdentity,
  authzenSubmission,
  canonicalJson,
  goesThrough,
  isReached,
  namedApproval,
  sha256Hex,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readIntentsOfReviews } from "../../store/escalations/approvals.ts";
import { readDecisions } from "../../store/intents/intents.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { readSubmittedIntents } from "../../store/rows/idempotency.ts";
import type { AskedSubmission } from "../intents/admit-submission.ts";
import { outcomeOf } from "../intents/decide-input.ts";
import { getDecision } from "../intents/read-intents.ts";
import { isAgent } from "../intents/readers.ts";
import { type SubmissionRequest, submitIntent } from "../intents/submit-intent.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { ownedOperation } from "../shared/idempotent.ts";
import { decideNow, type OwnRecords, type Ruled } from "./decide-now.ts";

export interface AccessRequest extends Pick<SubmissionRequest, "client_ip" | "turn" | "batch_size"> {
  readonly evaluation: AccessEvaluation;
  readonly membrane_id: string | undefined;
}

/**
 * Evaluates one access. Records it as an intent, or takes the intent of an identical evaluation for which the rules
 * still decide the same. With the setting decide_only, writes nothing. Faults: those of `submitIntent`.
 */
export async function evaluateAccess(
  runtime: Runtime,
  caller: Caller,
  request: AccessRequest,
): Promise<AccessDecision> {
  const { evaluation, membrane_id, client_ip } = request;
  const asked: AskedSubmission = { submission: authzenSubmission(evaluation, membrane_id), mode: undefined, client_ip };
  if (runtime.settings.authzen === "decide_only") {
    const ruled = await decideNow(runtime, caller, asked, async () => ({ own: [] }));
    return authzenDecision(evaluation, unrecorded(caller, ruled));
  }
  return authzenDecision(evaluation, await recorded(runtime, caller, request, asked));
}

function unrecorded(caller: Caller, { decided, mode }: Ruled<OwnRecords>) {
  const { content, reasons_for_agents } = decided;
  const { verdict, modified_content } = content;
  const reasons = isAgent(caller) ? [...reasons_for_agents] : content.reasons;
  return { verdict, outcome: outcomeOf(verdict, mode), enforced: mode !== "shadow", reasons, modified_content };
}

interface Records extends OwnRecords {
  readonly keys: readonly { readonly idempotency_key: string; readonly intent_id: string }[];
  /** The time of the database. */
  readonly now: string;
}

/** Returns the decision of the record that answers the evaluation. */
async function recorded(
  runtime: Runtime,
  caller: Caller,
  { evaluation, membrane_id, client_ip, turn, batch_size }: AccessRequest,
  asked: AskedSubmission,
): Promise<Decision> {
  const approval = namedApproval(evaluation);
  const operation = `evaluate_access ${authzenIdentity(evaluation, membrane_id)}`;
  const ruled = await decideNow(runtime, caller, asked, (query) => readRecords(query, caller, operation, approval));
  const { decided, read } = ruled;
  const { verdict } = decided.content;
  const prefix = `retry-${resultHash(ruled)} `;
  const last = read.keys.filter(({ idempotency_key }) => idempotency_key.startsWith(prefix)).at(-1);
  if (last !== undefined) {
    const decision = await currentDecision(runtime, caller, last.intent_id);
    if (stands(decision, { verdict, approval, now: read.now })) return decision;
  }
  const round = last === undefined ? 1 : Number(last.idempotency_key.slice(prefix.length)) + 1;
  const held = goesThrough(verdict) ? {} : { claim: "required" as const };
  const { intent_id, decision_text, replayed } = await submitIntent(runtime, caller, {
    submission: { ...asked.submission, ...held },
    ...{ mode: undefined, operation, idempotency_key: `${prefix}${round}`, approval },
    ...{ agent_token: undefined, client_ip, batch_size, ...(turn !== undefined && { turn }) },
  });
  return replayed ? currentDecision(runtime, caller, intent_id) : (JSON.parse(decision_text) as Decision);
}

async function readRecords(query: Query, caller: Caller, operation: string, approval: string | null): Promise<Records> {
  const { org_id } = caller;
  const keys = await readSubmittedIntents(query, org_id, ownedOperation(operation, caller));
  const decisions = await readDecisions(
    query,
    org_id,
    keys.map(({ intent_id }) => intent_id),
  );
  const reviews = decisions.flatMap(({ decision }) => (JSON.parse(decision) as Decision).escalation_id ?? []);
  const rested = await readIntentsOfReviews(query, org_id, approval === null ? reviews : [...reviews, approval]);
  const own = [...new Set([...keys.map(({ intent_id }) => intent_id), ...rested])].sort();
  return { keys, own, now: await databaseNow(query) };
}

/**
 * Hashes what the rules decide: the mode, the verdict, the rules that gave it, the changes, and who must approve. A
 * record of shadow mode permits every action, so it must not answer in live mode.
 */
function resultHash({ decided: { content, escalation }, mode }: Ruled<OwnRecords>): string {
  const { verdict, modified_content, reasons } = content;
  const rules = reasons.flatMap(({ policy_id, policy, effect }) =>
    effect === "none" ? [] : [[policy_id ?? policy, effect]],
  );
  const result = { mode, verdict, modified_content, rules, demands: escalation?.demands ?? [] };
  // Optional members may be undefined, which canonical JSON refuses.
  return sha256Hex(canonicalJson(JSON.parse(JSON.stringify(result)))).slice(0, 32);
}

/** Returns whether a record still answers an evaluation on which the rules decide `verdict`. */
function stands(
  decision: Decision,
  { verdict, approval, now }: { verdict: Decision["verdict"]; approval: string | null; now: string },
): boolean {
  const { human_override_id, grant_id, resumed_from, outcome, approval_expires_at, execution } = decision;
  const used_approval = human_override_id !== null || grant_id !== undefined || resumed_from !== undefined;
  // A fact changed between the two decisions of one evaluation.
  if (!used_approval && decision.verdict !== verdict) return false;
  if (outcome === null || !goesThrough(outcome)) return true;
  if (approval_expires_at !== undefined && isReached(approval_expires_at, now)) return false;
  const status = execution?.status ?? "none";
  // People approved since. Somebody else may have used the approval, and an evaluation that names it takes it over.
  if (decision.verdict === "escalate") return approval === null && (status === "none" || status === "skipped");
  return status !== "revoked" && status !== "handed_on";
}

async function currentDecision(runtime: Runtime, caller: Caller, intent_id: string): Promise<Decision> {
  return JSON.parse(await getDecision(runtime, caller, intent_id, 0)) as Decision;
}
