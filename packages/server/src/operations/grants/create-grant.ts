import { foldName, type Grant, type GrantInput, limits } from "@countersign/contract";
import {
  Fault,
  faultAt,
  type GrantRule,
  grantTerms,
  hiddenTextsInAction,
  isInScope,
  parseTimestampUs,
  redactedRemark,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { insertGrant, readUsableGrants } from "../../store/grants/grants.ts";
import { readIntent, type StoredIntent } from "../../store/intents/intents.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import { refuseFrozen } from "../freezes/frozen.ts";
import { type Identity, identityOf } from "../people/identity.ts";
import { unmetDemands } from "../people/reviewers.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { idempotentAttempts } from "../shared/idempotent-attempts.ts";
import { type Attempt, demandCurrentKey, demandRulesInForce } from "../shared/stale.ts";
import { shownGrant } from "./shown-grant.ts";

/**
 * Creates a grant from a held action. Faults: not_found, self_review, state_conflict (not held, its rules changed, or
 * too many grants), forbidden (a rule permits no grants, or names other reviewers), invalid_request (the scope does not
 * cover the action, or a limit is too large), frozen, idempotency_conflict, unavailable.
 */
export function createGrant(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "callers" | "orgStates">,
  caller: Caller,
  input: GrantInput,
  idempotency_key: string | undefined,
): Promise<OnceAnswer<Grant>> {
  const terms = { operation: "create_grant", idempotency_key, request: { input } };
  return idempotentAttempts(runtime, caller, terms, (attempt) => makeGrant(runtime, attempt, input));
}

/** The order of the checks is part of the API: the first failure is reported. */
async function makeGrant(
  runtime: Pick<Runtime, "ids" | "orgStates">,
  { query, caller, state }: Attempt,
  input: GrantInput,
): Promise<Grant> {
  const { org_id, actor } = caller;
  const { intent_id, scope, times } = input;

  const action = await readIntent(query, org_id, intent_id);
  if (action === undefined) throw new Fault("not_found");
  const reviewer = await identityOf(query, org_id, caller.lineage_id);
  await refuseOwn(query, org_id, reviewer, action);
  if (action.erased !== null) throw new Fault("erased");
  const { decision, mode, membrane_id } = action;
  if (decision.verdict !== "escalate" || mode === "shadow")
    throw faultAt("state_conflict", "/intent_id", "not_allowed", "A grant needs an action that rules held for people.");
  const reason = redactedRemark(input.reason, hiddenTextsInAction(action));

  const head = await lockHead(query, org_id);
  demandCurrentKey(head, caller);
  await demandRulesInForce(runtime, query, org_id, head, state);
  await refuseFrozen(query, org_id, action);

  const deciding = state.membrane(membrane_id);
  if (deciding === undefined) throw new Error(`no membrane ${membrane_id}`);
  const terms = grantTerms(decision.reasons, deciding);
  if (terms.kind === "refused")
    throw faultAt(terms.outdated ? "state_conflict" : "forbidden", "/intent_id", "not_allowed", terms.message);
  const { rules } = terms;
  await demandReviewer(query, rules, caller, reviewer.person);
  const created_at = await databaseNow(query);
  const expires_at = limited(input, terms, created_at);
  refuseScope(input, action);

  const actions = { agent: foldName(scope.agent_id), verb: foldName(scope.verb) };
  const about = { membrane_id, mode, lineage_id: action.lineage_id, ...actions };
  const live = await readUsableGrants(query, org_id, about);
  if (live.length >= limits.grants_live_max)
    throw faultAt(
      "state_conflict",
      "",
      "not_allowed",
      `This agent and verb have ${limits.grants_live_max} live grants already. Revoke one first.`,
    );
  const grant_id = runtime.ids.next("grant");
  const { type: action_type } = action.intent.decided_as;
  const given = { grant_id, intent_id, ...about, action_type, scope, rules, times, reason };
  const grant = await insertGrant(query, org_id, { ...given, granted_by: reviewer.person, created_at, expires_at });
  const shown = shownGrant(grant, state);
  const { summary, policies, granted_by } = shown;
  const data = { grant_id, person: granted_by, reason, scope, summary, policies, times, expires_at: shown.expires_at };
  const audit = [auditRow(runtime.ids, { intent_id, at: created_at, actor, type: "granted", data })];
  await changeHead(query, head, { raise: ["policy"], audit });
  return shown;
}

/** Faults: self_review, even in solo mode, because the grant could outlive it. */
async function refuseOwn(query: Query, org_id: string, reviewer: Identity, action: StoredIntent): Promise<void> {
  const submitter = await identityOf(query, org_id, action.lineage_id);
  if (reviewer.person !== submitter.person) return;
  const message = `${submitter.self} submitted the action, and you are the same person. A grant needs another person.`;
  throw faultAt("self_review", "", "not_allowed", message);
}

async function demandReviewer(
  query: Query,
  rules: readonly GrantRule[],
  caller: Caller,
  person: string,
): Promise<void> {
  const demands = rules.map(({ demand }) => demand);
  const [unmet] = await unmetDemands(query, demands, 1, caller, person);
  if (unmet === undefined) return;
  throw faultAt("forbidden", "", "not_allowed", `The rule ${unmet.policy} names other reviewers. Ask one of them.`);
}

function limited(
  { times, until }: GrantInput,
  { times_max, hours_max }: { readonly times_max: number; readonly hours_max: number },
  now: string,
): string {
  if (times > times_max)
    throw faultAt("invalid_request", "/times", "out_of_range", `The rules permit ${times_max} times at most.`);
  const [until_us, now_us] = [parseTimestampUs(until), parseTimestampUs(now)];
  if (until_us === null || now_us === null || until_us <= now_us)
    throw faultAt("invalid_request", "/until", "out_of_range", "The time must be in the future.");
  if (until_us > now_us + hours_max * 3_600_000_000)
    throw faultAt("invalid_request", "/until", "out_of_range", `The rules permit ${hours_max} hours at most.`);
  return until;
}

/**
 * Refuses a scope that does not cover the held action, and a limit on a value hidden from people. Faults:
 * invalid_request.
 */
function refuseScope({ scope }: GrantInput, { intent, decision }: StoredIntent): void {
  const hidden = [...(intent.withheld ?? []), ...(intent.masked ?? [])];
  for (const [index, { path }] of (scope.at_most ?? []).entries())
    if (hidden.some((each) => path === each || path.startsWith(`${each}/`)))
      throw faultAt(
        "invalid_request",
        `/scope/at_most/${index}/path`,
        "not_allowed",
        "A policy hides this value from people, so no grant can limit it.",
      );
  const { submitted } = intent;
  const { modified_content } = decision;
  const contents = [submitted.payload?.content ?? null, ...(modified_content === null ? [] : [modified_content])];
  if (isInScope(scope, submitted, contents)) return;
  const message = "The scope does not cover the held action. Its agent, verb, target, session and parameters must fit.";
  throw faultAt("invalid_request", "/scope", "not_allowed", message);
}
