/** Overrides a blocked action by a person. Source: spec §1 and §2.7. */
import type { Override, OverrideInput } from "@countersign/contract";
import { Fault, faultAt, hiddenTextsInAction, overrideTerms, redactedRemark } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readIntent, type StoredIntent } from "../../store/intents/intents.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { dropLapsed, insertOverride, readOverrideOf, secondOverride } from "../../store/overrides/overrides.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import { refuseFrozen } from "../freezes/frozen.ts";
import { identityOf, presentPerson } from "../people/identity.ts";
import { unmetDemands } from "../people/reviewers.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { idempotentAttempts } from "../shared/idempotent-attempts.ts";
import { type Attempt, demandCurrentKey, demandRulesInForce } from "../shared/stale.ts";
import { conflict, forbiddenFault, notEnforcedFault, unmetDemandsFault } from "./override-faults.ts";
import { overriddenChanges } from "./override-rows.ts";

/** Most people that an override can require. Policies with a larger quorum cannot be overridden. */
const people_max = 2;

/**
 * Overrides a block: the next retry of the same action within 24 hours is approved, once. If two people are needed, the
 * first call leaves the override `pending_second`, and another person's call completes it. Faults: not_found,
 * self_review, override_not_allowed (not an enforced block; a policy forbids it, or holds the action for other
 * reviewers), state_conflict (overridden already, or the same person again), frozen, idempotency_conflict, unavailable.
 */
export async function overrideBlock(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "callers" | "orgStates" | "deliveries">,
  caller: Caller,
  intent_id: string,
  input: OverrideInput,
  idempotency_key: string | undefined,
): Promise<OnceAnswer<Override>> {
  const terms = { operation: "override_block", idempotency_key, request: { intent_id, reason: input.reason } };
  const answer = await idempotentAttempts(runtime, caller, terms, (attempt) =>
    approveOverride(runtime, attempt, intent_id, input),
  );
  runtime.deliveries.wake(caller.org_id);
  return answer;
}

/** The order of the checks is part of the API: the first failure is reported. */
async function approveOverride(
  runtime: Pick<Runtime, "ids" | "orgStates">,
  { query, caller, state }: Attempt,
  intent_id: string,
  input: OverrideInput,
): Promise<Override> {
  const { org_id, actor } = caller;

  const intent = await readIntent(query, org_id, intent_id);
  if (intent === undefined) throw new Fault("not_found");
  const person = await admitOverrider(query, caller, intent);
  const { decision, mode } = intent;
  if (intent.erased !== null) throw new Fault("erased");
  if (decision.verdict !== "block" || mode === "shadow") throw notEnforcedFault();
  const reason = redactedRemark(input.reason, hiddenTextsInAction(intent));

  const head = await lockHead(query, org_id);
  demandCurrentKey(head, caller);
  await demandRulesInForce(runtime, query, org_id, head, state);
  await refuseFrozen(query, org_id, intent);

  const deciding = state.membrane(decision.membrane_id);
  if (deciding === undefined) throw new Error(`no membrane ${decision.membrane_id}`);
  const terms = overrideTerms(decision.reasons, deciding.policySet, deciding.membrane.escalation);
  if (terms.kind === "forbidden") throw forbiddenFault(terms.policies);
  const unmet = await unmetDemands(query, terms.demands, people_max, caller, person);
  if (unmet.length > 0) throw unmetDemandsFault(unmet, people_max);

  const at = await databaseNow(query);
  await dropLapsed(query, org_id, intent_id);
  const known = await readOverrideOf(query, org_id, intent_id);
  if (known?.status === "active") throw conflict("The action is overridden already, and the override is unspent.");
  let override: Override;
  if (known?.status === "pending_second") {
    if ((await presentPerson(query, org_id, known.approved_by)) === person)
      throw conflict("A second, different person has to approve it too.");
    override = await secondOverride(query, org_id, known.override_id, person, at);
  } else {
    const { lifts, policies: policies_overridden, people } = terms;
    const { decision_id, agent_id } = decision;
    const about = { override_id: runtime.ids.next("override"), intent_id, decision_id, agent_id, mode };
    const made = { ...about, reason, lifts, policies_overridden, approved_by: person, created_at: at };
    override = await insertOverride(query, org_id, made, people);
  }
  await changeHead(query, head, overriddenChanges(runtime.ids, org_id, override, { at, actor, person, reason }));
  return override;
}

/**
 * Returns the person behind the caller. Refuses the submitter and keys made by the submitter. Unlike in reviews, a
 * person may override the block of an agent key that the person made. Faults: self_review.
 */
async function admitOverrider(query: Query, caller: Caller, intent: StoredIntent): Promise<string> {
  const { person, makers } = await identityOf(query, caller.org_id, caller.lineage_id);
  const { self } = await identityOf(query, caller.org_id, intent.lineage_id);
  if (!makers.has(self)) return person;
  const message = `${self} submitted the action, and your key is the same or descends from it. Use another person's key or account.`;
  throw faultAt("self_review", "", "not_allowed", message);
}
