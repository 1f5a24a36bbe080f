import { type ClaimInput, type Decision, type Execution, roleMeets } from "@countersign/contract";
import {
  type BlockedBy,
  decideAgain,
  Fault,
  faultAt,
  isReached,
  type LetThrough,
  newDemands,
  type Present,
  type ReviewDemand,
  rulesInForce,
  sha256Hex,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { countsOf } from "../../store/audit/state/counts-of.ts";
import { changeCounted, moveCounted } from "../../store/counters/counters.ts";
import { holdApproval, readApproval } from "../../store/escalations/approvals.ts";
import { readReview } from "../../store/escalations/escalations.ts";
import { readGrant } from "../../store/grants/grants.ts";
import { type Claim, insertClaim, passClaimOn, readClaim } from "../../store/intents/claims.ts";
import { readDecision, readIntent, type StoredDecision, type StoredIntent } from "../../store/intents/intents.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { readLifts } from "../../store/overrides/overrides.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { demandNotFrozen } from "../freezes/frozen.ts";
import type { Runtime } from "../runtime.ts";
import { demandBoundAction } from "../shared/bindings.ts";
import { type Caller, shownActor } from "../shared/caller.ts";
import { blockedNowFault, readPresent } from "../shared/present.ts";
import { type Attempt, demandCurrentKey, demandRulesInForce, untilFresh } from "../shared/stale.ts";
import { presentDecision } from "./execution.ts";
import { maySee } from "./read-intents.ts";
import { getsSubmittersWording, isAgent, wordedFor } from "./readers.ts";

/**
 * Claims an approved action for the process that chose `nonce`, and returns the current decision as JSON text. The
 * first claim wins; only the same process may repeat it, and pass it on to `next_nonce`. The action is decided again by
 * the current rules, but not when its claim is repeated or passed on. Faults:
 * not_found, forbidden (another's action), already_claimed, handed_on, state_conflict (not let through, or the approval
 * was revoked or has expired), blocked_now, frozen, unavailable.
 */
export async function claimIntent(
  runtime: Pick<Runtime, "db" | "ids" | "callers" | "orgStates">,
  caller: Caller,
  intent_id: string,
  input: ClaimInput,
): Promise<string> {
  return untilFresh(runtime, caller, async (current) => {
    const state = await runtime.orgStates.get(caller.org_id);
    return runtime.db.tenant(caller.org_id, (query) =>
      claim(runtime, { query, caller: current, state }, intent_id, input),
    );
  });
}

async function claim(
  runtime: Pick<Runtime, "ids" | "orgStates">,
  { query, caller, state }: Attempt,
  intent_id: string,
  input: ClaimInput,
): Promise<string> {
  const { org_id, actor, lineage_id } = caller;
  const { nonce, next_nonce } = input;

  // Refuse before the lock, so that an unauthorized caller cannot hold it.
  await demandClaimer(query, caller, await readDecision(query, org_id, intent_id));

  const head = await lockHead(query, org_id);
  demandCurrentKey(head, caller);
  const nonce_sha256 = sha256Hex(next_nonce ?? nonce);
  const stored = demandStored(await readDecision(query, org_id, intent_id));
  const claimed = await readClaim(query, org_id, intent_id);
  if (claimed?.nonce_sha256 === nonce_sha256 && claimed.lineage_id === lineage_id)
    return answerFor(caller, query, stored);
  const action = demandStored(await readIntent(query, org_id, intent_id));
  if (next_nonce !== undefined) {
    demandHeldBy(caller, claimed, sha256Hex(nonce), stored);
    if (action.mode !== "shadow") await demandNotFrozen(query, org_id, action);
    await passClaimOn(query, org_id, intent_id, nonce_sha256);
    return answerFor(caller, query, stored);
  }
  refuseClaimed(claimed, stored);

  demandLetThrough(action);
  const { escalation_id } = action;
  const claimed_at = await databaseNow(query);
  if (escalation_id !== null) await demandHeld(query, org_id, escalation_id, intent_id);
  demandAlive(action, claimed_at);
  if (action.mode !== "shadow") {
    await demandRulesInForce(runtime, query, org_id, head, state);
    await demandNotFrozen(query, org_id, action);
    const present = await readPresent(query, org_id, action, state, claimed_at);
    const blocked = await blocksNow(query, caller, action, present);
    if (blocked.length > 0) throw blockedNowFault(blocked);
  }

  const counts_of: string[] = [];
  if (escalation_id !== null) {
    counts_of.push(...(await moveCounted(query, org_id, escalation_id, intent_id)));
    await holdApproval(query, org_id, escalation_id, { intent_id, spent: true, at: claimed_at, actor });
  }
  if (stored.execution?.status === "skipped")
    counts_of.push(...(await changeCounted(query, org_id, intent_id, "executed", null)));
  await insertClaim(query, org_id, intent_id, { nonce_sha256, actor, lineage_id, claimed_at }, head.audit_seq + 1);
  const data = { nonce_sha256, ...(escalation_id !== null && { escalation_id }), ...countsOf(counts_of) };
  const row = auditRow(runtime.ids, { intent_id, at: claimed_at, actor, type: "claimed", data });
  await changeHead(query, head, { audit: [row] });
  return answerFor(caller, query, { ...stored, execution: { status: "claimed", at: claimed_at, actor } });
}

async function answerFor(caller: Caller, query: Query, stored: StoredDecision): Promise<string> {
  if (getsSubmittersWording(caller, stored.lineage_id)) return presentDecision(stored);
  const { intent } = demandStored(await readIntent(query, caller.org_id, stored.intent_id));
  return JSON.stringify(wordedFor(caller, JSON.parse(presentDecision(stored)) as Decision, intent.other_wording));
}

async function demandClaimer(query: Query, caller: Caller, stored: StoredDecision | undefined): Promise<void> {
  if (stored === undefined || !maySee(caller, stored)) throw new Fault("not_found");
  await demandBoundAction(query, caller, stored);
  if (roleMeets(caller.role, ["operator"]) || stored.lineage_id === caller.lineage_id) return;
  const message = "Only the key that submitted the action, its rotations, and operators may claim it.";
  throw faultAt("forbidden", "", "not_allowed", message);
}

function demandStored<T>(stored: T | undefined): T {
  if (stored === undefined) throw new Error("an intent that was seen is not stored");
  return stored;
}

const unclaimed: ReadonlySet<Execution["status"]> = new Set(["skipped", "handed_on", "revoked"]);

const unsettled: ReadonlySet<Execution["status"] | undefined> = new Set(["claimed", "unknown"]);

/** Refuses an action that was claimed, or carried out without a claim. Faults: already_claimed. */
function refuseClaimed(claimed: Claim | undefined, { execution }: StoredDecision): void {
  const first = claimed ?? (execution !== null && unclaimed.has(execution.status) ? null : execution);
  if (first === null) return;
  const at = "claimed_at" in first ? first.claimed_at : first.at;
  const by = shownActor(first.actor);
  const message = `It was claimed at ${at} by ${by.id ?? by.type}.`;
  throw new Fault("already_claimed", {
    details: [{ path: "", code: "not_allowed", message, claimed_at: at, claimed_by: by, execution: execution?.status }],
  });
}

/**
 * Refuses to pass a claim on unless `nonce_sha256` is its current nonce and nobody has reported an outcome. So each step
 * of an action has one process. Faults: already_claimed, state_conflict.
 */
function demandHeldBy(
  { lineage_id }: Caller,
  claimed: Claim | undefined,
  nonce_sha256: string,
  stored: StoredDecision,
): void {
  const is_held = claimed?.nonce_sha256 === nonce_sha256 && claimed.lineage_id === lineage_id;
  if (is_held && unsettled.has(stored.execution?.status)) return;
  refuseClaimed(claimed, stored);
  const message = "Nobody has claimed this action, so its claim cannot be passed on. Claim it without next_nonce.";
  throw faultAt("state_conflict", "/next_nonce", "not_allowed", message);
}

async function demandHeld(query: Query, org_id: string, escalation_id: string, intent_id: string): Promise<void> {
  const { holder, revoked } = await readApproval(query, org_id, escalation_id);
  if (revoked) {
    const message =
      "An operator or admin revoked the approval of this action. Do not carry it out. Submit it again to ask people again.";
    throw faultAt("state_conflict", "", "not_allowed", message);
  }
  if (holder === null || holder === intent_id) return;
  const message = `The approval went to the equal action ${holder}. Submit this one again if it must happen once more.`;
  throw new Fault("handed_on", { details: [{ path: "", code: "not_allowed", message, intent_id: holder }] });
}

function demandAlive(action: StoredIntent, now: string): void {
  const { approval_expires_at } = finalOf(action);
  if (approval_expires_at === undefined || !isReached(approval_expires_at, now)) return;
  const message = `The approval of this action expired at ${approval_expires_at}. Submit the action again to ask people again.`;
  throw faultAt("state_conflict", "", "not_allowed", message);
}

function demandLetThrough(action: StoredIntent): void {
  const { outcome } = finalOf(action);
  if (outcome === "approve" || outcome === "approve_modified") return;
  const message =
    outcome === null
      ? "The action waits for a review. Claim it when its outcome is approve or approve_modified."
      : "The action is blocked. Only an action whose outcome is approve or approve_modified can be claimed.";
  throw faultAt("state_conflict", "", "not_allowed", message);
}

function finalOf({ decision, resolution }: StoredIntent) {
  return { ...decision, ...resolution };
}

/** Returns what blocks an approved action now, or holds it for people who have not approved it. Empty: nothing. */
async function blocksNow(
  query: Query,
  caller: Caller,
  action: StoredIntent,
  present: Present,
): Promise<readonly BlockedBy[]> {
  const { org_id } = caller;
  const { modifications, modified_content, escalation_status } = finalOf(action);
  const { escalation_id, override_id } = action;
  const let_through: LetThrough = {
    ...{ modifications, modified_content, human_reviewed: escalation_status === "decided" },
    overrides: override_id === null ? [] : await readLifts(query, org_id, override_id),
    for_agents: isAgent(caller),
  };
  const again = decideAgain(action, let_through, present);
  // A timeout approved the action without people, so no demand was met.
  if (again.blocked.length > 0 || escalation_status === "timed_out") return again.blocked;
  const review = escalation_id === null ? undefined : await readReview(query, org_id, escalation_id);
  const demands = await notGranted(query, org_id, action, again.demands, present);
  return newDemands(action, demands, review?.demands ?? []).map(({ policy }) => ({
    policy,
    message: "This rule now holds the action for reviewers who have not approved it. Submit the action again.",
  }));
}

async function notGranted(
  query: Query,
  org_id: string,
  { decision: { grant_id }, membrane_id }: StoredIntent,
  demands: readonly ReviewDemand[],
  { rules }: Present,
): Promise<readonly ReviewDemand[]> {
  if (grant_id === undefined) return demands;
  const grant = await readGrant(query, org_id, grant_id);
  const deciding = rules.membrane(membrane_id);
  if (grant === undefined || deciding === undefined || !rulesInForce(grant, deciding)) return demands;
  const granted = new Set(grant.rules.map(({ policy_id }) => policy_id));
  return demands.filter(({ policy_id }) => policy_id === undefined || !granted.has(policy_id));
}
