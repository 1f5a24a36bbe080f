/** A person's approval of a blocked action. Source: contract §1 and §2.7, api.md §6. */
import type { Decision, Override, OverrideInput } from "@countersign/contract";
import { Fault, faultAt, overrideTerms, parseTimestampUs, type ReviewDemand } from "@countersign/core";
import type { Ids, Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import type { EventRow } from "../../store/commit/commit-writer-rows.ts";
import { readIntent, type StoredIntent } from "../../store/intents/intents.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { dropLapsed, insertOverride, readOverrideOf, secondOverride } from "../../store/overrides/overrides.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import { demandCurrent, demandInForce, withCurrentCaller } from "../escalations/change-escalation.ts";
import { shownRemark } from "../intents/shown-remark.ts";
import { identityOf } from "../people/identity.ts";
import { unmetDemands } from "../people/reviewers.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { eventRow } from "../shared/event-row.ts";
import { idempotent } from "../shared/idempotent.ts";

/** Who may have to override at most: where a policy asks for more approvals, nobody may. */
const people_max = 2;

/**
 * Overrides a block: the next retry of the same action within 24 hours is approved, once. Where a policy asks for two
 * people, or holds it for several, the first call leaves it `pending_second` and a different person's call completes it.
 * Whoever submitted the intent cannot, nor who is no reviewer of a policy that holds it, too. Faults: not_found, self_review,
 * override_not_allowed (naming the policies, or not an enforced block),
 * state_conflict (overridden already, or the same person again), idempotency_conflict.
 */
export async function overrideBlock(
  runtime: Runtime,
  caller: Caller,
  intent_id: string,
  input: OverrideInput,
  idempotency_key: string | undefined,
): Promise<OnceAnswer<Override>> {
  const terms = { operation: "override_block", idempotency_key, request: { intent_id, reason: input.reason } };
  const answer = await withCurrentCaller(runtime, caller, async (current) => {
    const { org_id, actor } = current;
    const state = await runtime.orgStates.get(org_id);
    return idempotent(runtime, current, terms, async (query) => {
      const intent = await readIntent(query, org_id, intent_id);
      if (intent === undefined) throw new Fault("not_found");
      const person = await admit(query, current, intent);
      const { decision, mode } = enforcedBlock(intent);
      const reason = shownRemark(intent, input.reason);
      let override: Override | undefined;
      await withHead(query, org_id, async (head) => {
        demandCurrent(head, current);
        await demandInForce(runtime, query, org_id, head, state);
        const policySet = state.membrane(decision.membrane_id)?.policySet;
        if (policySet === undefined) throw new Error(`no membrane ${decision.membrane_id}`);
        const allowed = overrideTerms(decision.reasons, policySet);
        if (allowed.kind === "forbidden") throw notAllowed(allowed.policies);
        await refuseHeldForOthers(query, allowed.demands, current, person);
        const at = await databaseNow(query);
        await dropLapsed(query, org_id, intent_id);
        const known = await readOverrideOf(query, org_id, intent_id);
        if (known?.status === "active")
          throw conflict("The action is overridden already, and the override is unspent.");
        if (known?.status === "pending_second") {
          if (known.approved_by === person) throw conflict("A second, different person has to approve it too.");
          override = await secondOverride(query, org_id, known.override_id, person, at);
        } else {
          const { lifts, policies: policies_overridden } = allowed;
          const { decision_id, agent_id } = decision;
          const override_id = runtime.ids.next("override");
          const made = { override_id, intent_id, decision_id, agent_id, mode, reason, lifts, policies_overridden };
          override = await insertOverride(
            query,
            org_id,
            { ...made, approved_by: person, created_at: at },
            allowed.people,
          );
        }
        const { override_id, status, policies_overridden } = override;
        const data = { override_id, status, person, reason, policies_overridden };
        return {
          // Nodes that know of no override do not look for one.
          raise: status === "active" ? ["policy"] : [],
          audit: [auditRow(runtime.ids, { intent_id, at, actor, type: "overridden", data })],
          events: status === "active" ? [overriddenEvent(runtime.ids, org_id, override, at)] : [],
        };
      });
      if (override === undefined) throw new Error("the head was changed without an override");
      return override;
    });
  });
  runtime.deliveries.poke();
  return answer;
}

/** The person behind the caller, who may have made the submitting key but is not the submitter. Faults: self_review. */
async function admit(query: Query, caller: Caller, intent: StoredIntent): Promise<string> {
  const { self, person } = await identityOf(query, caller.org_id, caller.lineage_id);
  const submitter = await identityOf(query, caller.org_id, intent.lineage_id);
  if (self === submitter.self || person === submitter.self) throw new Fault("self_review");
  return person;
}

/** Faults: override_not_allowed. */
function enforcedBlock(intent: StoredIntent): { decision: Decision; mode: "live" | "test" } {
  const decision = intent.decision as unknown as Decision;
  if (decision.verdict !== "block" || intent.mode === "shadow") {
    const message = "Only a block that was enforced can be overridden.";
    throw faultAt("override_not_allowed", "", "not_allowed", message);
  }
  return { decision, mode: intent.mode };
}

/**
 * What is overridden is approved, not held. So it is for those whom policies that hold the action, too, name as reviewers.
 * Faults: override_not_allowed naming the policies.
 */
async function refuseHeldForOthers(
  query: Query,
  demands: readonly ReviewDemand[],
  caller: Caller,
  person: string,
): Promise<void> {
  const unmet = await unmetDemands(query, demands, people_max, caller, person);
  const details = unmet.map(({ policy, quorum, few }) => ({
    path: "",
    code: "not_allowed",
    policy,
    message: few
      ? `The policy ${policy} asks for ${quorum} approvals of this action; an override takes ${people_max} people at most.`
      : `The policy ${policy} holds this action for other reviewers.`,
  }));
  if (details.length > 0) throw new Fault("override_not_allowed", { details });
}

function overriddenEvent(ids: Ids, organization_id: string, override: Override, at: string): EventRow {
  const { override_id, intent_id, decision_id, agent_id, approved_by, approved_at, expires_at } = override;
  const { policies_overridden } = override;
  const data = { override_id, agent_id, approved_by, approved_at, expires_at, policies_overridden };
  const at_us = parseTimestampUs(at) ?? 0;
  return eventRow(ids, {
    event_type: "decision.overridden",
    organization_id,
    at_us,
    intent_id,
    decision_id,
    data,
  });
}

function notAllowed(policies: readonly string[]): Fault {
  return new Fault("override_not_allowed", {
    details: policies.map((policy) => ({
      path: "",
      code: "not_allowed",
      policy,
      message: `The policy ${policy} may not be overridden.`,
    })),
  });
}

function conflict(message: string): Fault {
  return faultAt("state_conflict", "", "not_allowed", message);
}
