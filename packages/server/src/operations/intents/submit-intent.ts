/**
 * One intent, from its body to a decision on disk.
 *
 * The decision is computed from memory and committed under the epochs it assumed. Where the commit finds them outdated,
 * key and organization are read again and the intent is decided again; a key that was revoked meanwhile ends it with 401.
 */

import type { IntentSubmission } from "@countersign/contract";
import { canonicalJson, Fault, faultAt, sha256Hex } from "@countersign/core";
import type { CommitOutcome, DecisionRows, IdempotencyRow } from "../../store/commit/commit-writer-rows.ts";
import { readFirstAnswer } from "../../store/intents/intents.ts";
import { pullContext } from "../context/pull-context.ts";
import { announceQuotaExceeded } from "../organizations/announce-quota-exceeded.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { isReplay, ownedOperation } from "../shared/idempotent.ts";
import { proposeDecision } from "./propose-decision.ts";

/** What deciding on a submission needs. */
export type Deciding = Pick<
  Runtime,
  | "db"
  | "clock"
  | "ids"
  | "writer"
  | "orgStates"
  | "callers"
  | "contextPauses"
  | "pulls"
  | "reviewQueues"
  | "latencies"
  | "metrics"
  | "deliveries"
>;

/** How one submission came in. */
export interface SubmissionRequest {
  readonly submission: IntentSubmission;
  /** `mode` of the query; only shadow can be asked for. */
  readonly mode: "shadow" | undefined;
  readonly idempotency_key: string | undefined;
  /** Intents in the same request: 1, or the size of the batch. */
  readonly batch_size: number;
  /** In a batch: when this item may go to the commit, and what tells the next one that it has. */
  readonly turn?: { readonly come: Promise<void>; readonly over: () => void };
}

/** The answer, as JSON text of `{intent_id, decision}`; `replayed` when an earlier request with this idempotency key gave it. */
export interface SubmissionAnswer {
  readonly intent_id: string;
  readonly decision_text: string;
  readonly replayed: boolean;
}

/**
 * For how long a decision is computed again against a storm of changes. By time, not by number: where clients push facts to
 * other nodes without a pause, most attempts are outdated when they come to be committed, and each takes milliseconds.
 */
const deciding_us_max = 5_000_000;
/** Where each takes longer than that: so many times all the same. */
const attempts_min = 6;
/** So often one may be outdated before pushes of facts wait for it. */
const outdated_max = 2;
/** Races for an override that one submission may lose. */
const lost_races_max = 100;

/**
 * Decides an intent and commits it. Faults: invalid_context, review_queue_full, forbidden (a key of another agent), not_found and
 * state_conflict (membrane), quota_exceeded, idempotency_conflict, the 401 faults, overloaded, unavailable.
 * Source: contract §4, api.md §4.
 */
export async function submitIntent(
  runtime: Deciding,
  caller: Caller,
  request: SubmissionRequest,
): Promise<SubmissionAnswer> {
  const started_us = runtime.clock.now_us();
  if (caller.agent_id !== null && caller.agent_id !== request.submission.intent.agent.id) {
    throw faultAt(
      "forbidden",
      "/intent/agent/id",
      "agent",
      `This key speaks for the agent ${JSON.stringify(caller.agent_id)} only.`,
    );
  }
  const idempotency = idempotencyOf(caller, request);
  const pull = pullContext(runtime, caller.org_id, request.submission);
  // It holds no rows: thousands that wait for their commit would keep theirs twice.
  const commit = (rows: DecisionRows): Promise<CommitOutcome> => {
    const committing = runtime.writer.commit(rows);
    request.turn?.over();
    return committing;
  };
  let current = caller;
  let lost_races = 0;
  let attempts = 0;
  let outdated = 0;
  const goesOn = (): boolean =>
    lost_races <= lost_races_max &&
    (attempts - lost_races < attempts_min || runtime.clock.now_us() - started_us < deciding_us_max);
  let endPause: (() => void) | null = null;
  try {
    for (; goesOn(); attempts += 1) {
      const state = await runtime.orgStates.get(caller.org_id);
      const pulled = state.source === null ? null : await pull(state);
      if (pulled === "replaced") {
        runtime.orgStates.forget(caller.org_id, state);
        continue;
      }
      let rows: DecisionRows;
      try {
        rows = await proposeDecision(runtime, current, state, request, pulled, idempotency);
      } catch (error) {
        // A commit would find an outdated state; a refusal has no commit, and the membrane may have been made since.
        if (restsOnState(error) && (await runtime.orgStates.isOutdated(caller.org_id, state))) continue;
        throw error;
      }
      if (request.turn !== undefined) await request.turn.come;
      const { intent_id, decision: decision_text, verdict, mode } = rows.intent;
      const tells = rows.events.length > 0;
      const outcome = await runtime.reviewQueues.enter(rows, commit);
      switch (outcome.outcome) {
        case "committed":
          if (tells) runtime.deliveries.poke();
          countDecided(runtime, caller.org_id, { verdict, mode }, started_us);
          return { intent_id, decision_text, replayed: false };
        case "duplicate":
          return await replay(runtime, caller, idempotency, outcome);
        case "override_spent":
          // Another retry was first. There may be a further override of the same action, so look again; each loss is
          // somebody's win, and there are no more wins than overrides.
          lost_races += 1;
          break;
        case "quota_exceeded":
          // Another node may have answered this request while the commit waited, which took the last of the quota.
          if (await isReplay(runtime.db, rows)) break;
          throw await quotaFault(runtime, caller, request, outcome);
        case "stale":
          runtime.metrics.decidedAgain();
          outdated += 1;
          if (outdated > outdated_max) endPause ??= runtime.contextPauses.begin(caller.org_id);
          if (outcome.epochs.auth !== current.auth_epoch) current = await runtime.callers.reload(current);
          if (outcome.epochs.policy !== state.policy_epoch || outcome.epochs.context !== state.context_epoch)
            runtime.orgStates.forget(caller.org_id, state);
          break;
        default:
          outcome satisfies never;
      }
    }
    throw new Fault("unavailable", { internal: `decided ${attempts} times and found outdated each time` });
  } finally {
    endPause?.();
  }
}

function countDecided(
  { metrics, latencies, clock }: Pick<Runtime, "clock" | "latencies" | "metrics">,
  org_id: string,
  { verdict, mode }: Pick<DecisionRows["intent"], "verdict" | "mode">,
  started_us: number,
): void {
  const now_us = clock.now_us();
  metrics.decided(verdict, mode, now_us - started_us);
  latencies.decided(org_id, now_us, now_us - started_us);
}

/** The promise of an Idempotency-Key covers everything that shapes the decision: the body and the asked mode. */
function idempotencyOf(
  caller: Caller,
  { idempotency_key, mode, submission }: SubmissionRequest,
): IdempotencyRow | null {
  if (idempotency_key === undefined) return null;
  const request_sha256 = sha256Hex(canonicalJson({ mode: mode ?? null, submission }));
  return { operation: ownedOperation("submit_intent", caller), idempotency_key, request_sha256 };
}

function restsOnState(error: unknown): boolean {
  return error instanceof Fault && (error.code === "not_found" || error.code === "state_conflict");
}

async function replay(
  runtime: Pick<Runtime, "db">,
  caller: Caller,
  idempotency: IdempotencyRow | null,
  stored: Extract<CommitOutcome, { outcome: "duplicate" }>,
): Promise<SubmissionAnswer> {
  if (stored.request_sha256 !== idempotency?.request_sha256) throw new Fault("idempotency_conflict");
  const decision_text = await runtime.db.tenant(caller.org_id, (query) =>
    readFirstAnswer(query, caller.org_id, stored.intent_id),
  );
  return { intent_id: stored.intent_id, decision_text, replayed: true };
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
