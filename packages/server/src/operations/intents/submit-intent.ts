/**
 * Takes one intent from its body to a decision on disk.
 *
 * The decision is computed from memory and committed under the epochs that it assumed. If they are stale, key and
 * organization are read again and the intent is decided again.
 */

import type { Decision } from "@countersign/contract";
import { type ContextSource, canonicalJson, Fault, sha256Hex } from "@countersign/core";
import type { CommitOutcome, DecisionRows, IdempotencyRow } from "../../store/commit/commit-writer-rows.ts";
import { readFirstAnswer } from "../../store/intents/intents.ts";
import type { Epochs } from "../../store/organizations/epochs.ts";
import { pullContext } from "../context/pull-context.ts";
import { announceFull } from "../counters/announce-full.ts";
import { spendGrant } from "../grants/spend-grant.ts";
import { announceQuotaExceeded } from "../organizations/announce-quota-exceeded.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { isReplay, ownedOperation } from "../shared/idempotent.ts";
import type { OrgState, Pulled } from "../shared/node-services.ts";
import { type PresentedToken, presentedToken, requestHash, tokenOutcome } from "../tokens/present-token.ts";
import { type AskedSubmission, bindingRefusal, demandAbleTo } from "./admit-submission.ts";
import { withExecution } from "./execution.ts";
import { handOn } from "./hand-on.ts";
import { type Proposed, proposeDecision } from "./propose-decision.ts";
import { wordedFor } from "./readers.ts";

export type Deciding = Pick<
  Runtime,
  | "db"
  | "clock"
  | "clockWatch"
  | "ids"
  | "writer"
  | "orgStates"
  | "callers"
  | "contextPauses"
  | "pulls"
  | "agentTokens"
  | "reviewQueues"
  | "counters"
  | "sealer"
  | "mails"
  | "log"
  | "latencies"
  | "figures"
  | "metrics"
  | "deliveries"
>;

export interface SubmissionRequest extends AskedSubmission {
  readonly idempotency_key: string | undefined;
  /** The operation to which the key belongs. Absent: submissions. */
  readonly operation?: string;
  /** See `Proposal`. Absent: any approval that fits. */
  readonly approval?: string | null;
  readonly agent_token: string | PresentedToken | null | undefined;
  readonly batch_size: number;
  /** In a batch: `come` resolves when this item may commit; `over` lets the next item commit. */
  readonly turn?: { readonly come: Promise<void>; readonly over: () => void };
}

/**
 * `decision_text` is JSON. `replayed`: an earlier request with this Idempotency-Key gave the answer; only `execution`
 * is updated.
 */
export interface SubmissionAnswer {
  readonly intent_id: string;
  readonly decision_text: string;
  readonly replayed: boolean;
}

/**
 * Longest time of deciding again. Limited by time, because constant fact pushes make attempts stale after milliseconds.
 */
const deciding_us_max = 5_000_000;
const attempts_min = 6;
/** After this many stale commits, fact pushes for the organization pause until this intent commits. */
const stale_max = 2;
/** Retries allowed after another request spent the override first. */
const lost_races_max = 100;
const approvalGone = { outcome: "approval_gone" } as const;

/**
 * Decides an intent and commits it. Faults: invalid_context, review_queue_full, forbidden (a key that is bound
 * elsewhere), not_found and state_conflict (membrane), invalid_agent_token, quota_exceeded, idempotency_conflict, the
 * 401 faults, overloaded, unavailable (detail `clock`: this node's clock is far off).
 */
export async function submitIntent(
  runtime: Deciding,
  caller: Caller,
  request: SubmissionRequest,
): Promise<SubmissionAnswer> {
  demandAbleTo(runtime, caller, request);
  const submission = new Submission(runtime, caller, request);
  try {
    return await submission.run();
  } finally {
    submission.end();
  }
}

/**
 * Each attempt reads the state, pulls facts, proposes a decision and commits it. It returns an answer, throws a fault,
 * or returns null if an assumption was stale.
 */
class Submission {
  readonly #runtime: Deciding;
  readonly #request: SubmissionRequest;
  readonly #idempotency: IdempotencyRow | null;
  readonly #pull: ReturnType<typeof pullContext>;
  readonly #token: PresentedToken | null;
  readonly #started_us: number;
  #caller: Caller;
  #attempts = 0;
  #stale = 0;
  #lost_races = 0;
  #endPause: (() => void) | null = null;
  /** Ends the turn of a decision that counts. */
  #endTurn: (() => void) | null = null;

  constructor(runtime: Deciding, caller: Caller, request: SubmissionRequest) {
    this.#started_us = runtime.clock.now_us();
    this.#runtime = runtime;
    this.#caller = caller;
    this.#request = request;
    this.#idempotency = idempotencyOf(caller, request);
    this.#pull = pullContext(runtime, caller.org_id, request.submission);
    const { agent_token } = request;
    this.#token =
      typeof agent_token === "string"
        ? presentedToken(runtime, caller.org_id, agent_token, requestHash(runtime, this.#idempotency))
        : (agent_token ?? null);
  }

  async run(): Promise<SubmissionAnswer> {
    for (; this.#mayTry(); this.#attempts += 1) {
      const answer = await this.#attempt();
      if (answer !== null) return answer;
    }
    throw new Fault("unavailable", { internal: `stale in each of ${this.#attempts} attempts` });
  }

  /** Must be called after `run` has ended. */
  end(): void {
    this.#endPause?.();
  }

  #mayTry(): boolean {
    if (this.#lost_races > lost_races_max) return false;
    if (this.#attempts - this.#lost_races < attempts_min) return true;
    return this.#runtime.clock.now_us() - this.#started_us < deciding_us_max;
  }

  async #attempt(): Promise<SubmissionAnswer | null> {
    const { orgStates } = this.#runtime;
    const { org_id } = this.#caller;
    const state = await orgStates.get(org_id);
    if (!(await this.#demandBound(state))) return null;
    const pulled = state.source === null ? null : await this.#pull(state);
    if (pulled === "replaced") {
      orgStates.forget(org_id, state);
      return null;
    }
    const counts = (state.membrane(this.#request.submission.membrane_id)?.policySet.tracks.byName.size ?? 0) > 0;
    if (!counts) return this.#decide(state, pulled);
    // In a batch, an item takes its turn after the items before it, which would else wait for it.
    if (this.#request.turn !== undefined) await this.#request.turn.come;
    this.#endTurn = await this.#runtime.counters.turn(org_id);
    try {
      return await this.#decide(state, pulled);
    } finally {
      this.#endTurn();
    }
  }

  async #decide(state: OrgState, pulled: Pulled | null): Promise<SubmissionAnswer | null> {
    const proposed = await this.#propose(state, pulled);
    if (proposed === null) return null;
    const { missing, rows } = proposed;
    if (missing.length > 0) {
      this.#endTurn?.();
      const { counters, clock } = this.#runtime;
      await counters.load(rows.org_id, rows.entry.mode, missing, clock.now_us());
      return null;
    }
    if (this.#request.turn !== undefined) await this.#request.turn.come;
    return this.#commit(state, proposed);
  }

  /**
   * Returns true if the bindings allow the submission. Before refusing, reads the key again. Returns false if the state
   * is outdated, because an agent may have another parent. Faults: forbidden, the 401 faults.
   */
  async #demandBound(state: OrgState): Promise<boolean> {
    return bindingRefusal(this.#caller, state, this.#request) === null || (await this.#reloadBound(state));
  }

  async #reloadBound(state: OrgState): Promise<boolean> {
    this.#caller = await this.#runtime.callers.reload(this.#caller);
    const refusal = bindingRefusal(this.#caller, state, this.#request);
    if (refusal === null) return true;
    if (await this.#runtime.orgStates.isOutdated(this.#caller.org_id, state)) return false;
    throw refusal;
  }

  async #propose(state: OrgState, pulled: Pulled | null): Promise<Proposed | null> {
    const { submission, mode: asked_mode, approval } = this.#request;
    const [caller, idempotency] = [this.#caller, this.#idempotency];
    try {
      const token = await this.#tokenFacts(state);
      const { counters } = this.#runtime;
      const proposal = { counters, caller, state, submission, asked_mode, approval, pulled, token, idempotency };
      return await proposeDecision(this.#runtime, proposal);
    } catch (error) {
      // A refusal has no commit that would detect a stale state. The membrane may exist meanwhile.
      if (restsOnState(error) && (await this.#runtime.orgStates.isOutdated(caller.org_id, state))) return null;
      throw error;
    }
  }

  async #tokenFacts(state: OrgState): Promise<ContextSource | null> {
    const deciding = state.membrane(this.#request.submission.membrane_id);
    if (deciding === undefined) return null;
    const { db, clock } = this.#runtime;
    const { facts, refusal } = await tokenOutcome(this.#token, state, deciding.membrane, clock.now_us());
    // A replay must work after the token has expired. The commit finds the first answer.
    const { org_id } = this.#caller;
    if (refusal !== null && !(await isReplay(db, { org_id, idempotency: this.#idempotency }))) throw refusal;
    return facts;
  }

  async #commit(
    state: OrgState,
    { rows, resumed, grant_id, full_counters }: Proposed,
  ): Promise<SubmissionAnswer | null> {
    const runtime = this.#runtime;
    const { intent_id, agent_id, decision, verdict, mode } = rows.entry;
    const has_events = rows.events.length > 0;
    let outcome: CommitOutcome | typeof approvalGone;
    if (resumed !== null) outcome = await this.#commitWith(rows, handOn(runtime, rows, resumed));
    else if (grant_id !== null) outcome = await this.#commitWith(rows, spendGrant(runtime, rows, grant_id));
    else outcome = await runtime.reviewQueues.enter(rows, this.#write);
    switch (outcome.outcome) {
      case "committed":
        if (has_events) runtime.deliveries.wake(this.#caller.org_id);
        countDecided(runtime, this.#caller.org_id, { verdict, mode }, this.#started_us);
        if (full_counters.length > 0 && mode === "live") {
          runtime.metrics.countersFull();
          await announceFull(runtime, this.#caller.org_id, { intent_id, agent_id, counters: full_counters });
        }
        return { intent_id, decision_text: withExecution(decision, null), replayed: false };
      case "duplicate":
        if (!(await this.#reloadBound(state))) return null;
        return replay(runtime, this.#caller, this.#idempotency, outcome);
      case "override_spent":
      case "approval_gone":
        // Another submission won the override, approval or grant. Their number bounds the lost races.
        this.#lost_races += 1;
        return null;
      case "quota_exceeded":
        // Another node may have answered this request meanwhile, which used up the quota.
        if (await isReplay(runtime.db, rows)) return null;
        throw await quotaFault(runtime, this.#caller, this.#request, outcome);
      case "counted":
        runtime.metrics.decidedAgain();
        return null;
      case "stale":
        await this.#refresh(state, outcome.epochs);
        return null;
    }
  }

  /** A member and not a closure, because closures would keep the rows of thousands of waiting intents. */
  readonly #write = (rows: DecisionRows): Promise<CommitOutcome> => {
    const committing = this.#runtime.writer.commit(rows);
    if (rows.counts.length > 0) {
      const settle = this.#runtime.counters.reserve(rows);
      const isCommitted = ({ outcome }: CommitOutcome): void => settle(outcome === "committed");
      void committing.then(isCommitted, () => settle(false));
    }
    this.#endTurn?.();
    this.#request.turn?.over();
    return committing;
  };

  async #commitWith(
    rows: DecisionRows,
    committing: Promise<CommitOutcome | null>,
  ): Promise<CommitOutcome | typeof approvalGone> {
    try {
      return (await committing) ?? approvalGone;
    } finally {
      this.#runtime.counters.forget(rows);
      this.#request.turn?.over();
    }
  }

  async #refresh(state: OrgState, epochs: Epochs): Promise<void> {
    const { metrics, contextPauses, callers, orgStates } = this.#runtime;
    const { org_id } = this.#caller;
    metrics.decidedAgain();
    this.#stale += 1;
    if (this.#stale > stale_max) this.#endPause ??= contextPauses.begin(org_id);
    if (epochs.auth !== this.#caller.auth_epoch) this.#caller = await callers.reload(this.#caller);
    if (epochs.policy !== state.policy_epoch || epochs.context !== state.context_epoch) orgStates.forget(org_id, state);
  }
}

function countDecided(
  { metrics, latencies, figures, clock }: Pick<Runtime, "clock" | "figures" | "latencies" | "metrics">,
  org_id: string,
  { verdict, mode }: Pick<DecisionRows["entry"], "verdict" | "mode">,
  started_us: number,
): void {
  const now_us = clock.now_us();
  metrics.decided(verdict, mode, now_us - started_us);
  latencies.decided(org_id, now_us, now_us - started_us);
  figures.decided(org_id);
}

/**
 * Hashes body and requested mode, but not `claim`. So a replay with `claim` gets the answer of a request without it.
 */
function idempotencyOf(
  caller: Caller,
  { operation = "submit_intent", idempotency_key, mode, submission }: SubmissionRequest,
): IdempotencyRow | null {
  if (idempotency_key === undefined) return null;
  const { claim: _, ...decided } = submission;
  const request_sha256 = sha256Hex(canonicalJson({ mode: mode ?? null, submission: decided }));
  return { operation: ownedOperation(operation, caller), idempotency_key, request_sha256 };
}

const restingCodes: ReadonlySet<string> = new Set([
  "not_found",
  "state_conflict",
  "invalid_agent_token",
  "unavailable",
]);

function restsOnState(error: unknown): boolean {
  return error instanceof Fault && restingCodes.has(error.code);
}

async function replay(
  runtime: Pick<Runtime, "db">,
  caller: Caller,
  idempotency: IdempotencyRow | null,
  stored: Extract<CommitOutcome, { outcome: "duplicate" }>,
): Promise<SubmissionAnswer> {
  if (stored.request_sha256 !== idempotency?.request_sha256)
    throw new Fault("idempotency_conflict", { details: [{ intent_id: stored.intent_id }] });
  const { decision, execution, erased, other_wording } = await runtime.db.tenant(caller.org_id, (query) =>
    readFirstAnswer(query, caller.org_id, stored.intent_id),
  );
  // Without its content, an answer could let another action through.
  if (erased !== null) throw new Fault("erased");
  const first =
    other_wording === null
      ? decision
      : JSON.stringify(wordedFor(caller, JSON.parse(decision) as Decision, other_wording));
  return { intent_id: stored.intent_id, decision_text: withExecution(first, execution), replayed: true };
}

async function quotaFault(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "deliveries">,
  caller: Caller,
  request: SubmissionRequest,
  refused: Extract<CommitOutcome, { outcome: "quota_exceeded" }>,
): Promise<Fault> {
  if (!refused.announced) await announceQuotaExceeded(runtime, caller.org_id, request.batch_size);
  return new Fault("quota_exceeded", {
    details: [{ period: refused.period, used_actions: refused.used, hard_limit: refused.hard_limit }],
  });
}
