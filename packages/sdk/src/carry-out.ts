/** Executes an action once, only as approved, and records its result. */
import type { Decision, Execution, IntentSubmission, ObservationInput } from "@countersign/contract";
import type { Client } from "./client.ts";
import { ApiError } from "./errors.ts";
import { newIdempotencyKey } from "./idempotency-key.ts";
import { type ActionContent, plainContent } from "./plain-content.ts";

/** Methods of the client that executing needs. */
export type DecidingClient = Pick<
  Client,
  "submitIntent" | "waitForOutcome" | "claimIntent" | "recordObservation" | "withdrawEscalation"
>;

export interface CarryOutOptions<Result> {
  /** Aborts the submission and the wait for reviewers, but not a running action. */
  readonly signal?: AbortSignal | undefined;
  /** True: withdraws the action if `signal` ends the wait for reviewers. Default: the review stays open. */
  readonly withdraw?: boolean | undefined;
  /** Called when the action waits for reviewers, which may take hours. */
  readonly onPending?: (decision: Decision) => void;
  /**
   * Called with a reviewer's message about an approved action. For a blocked one, `ActionBlocked` contains the message.
   */
  readonly onMessage?: (message: string, decision: Decision) => void;
  /**
   * Returns why a result is a failure, for actions that do not throw. Null: no failure. If this function throws, the
   * action counts as executed.
   */
  readonly failureOf?: (result: Result) => string | null;
  /**
   * Returns true if the action goes on after this result, for example as a job. Nothing is recorded then: the caller
   * records the outcome at the end.
   */
  readonly goesOn?: ((result: Result) => boolean) | undefined;
  /** Returns the result of an action that was executed earlier, for example before a restart. Default: undefined. */
  readonly onDoneBefore?: (execution: Execution, intent_id: string) => Result;
  /**
   * Called when the observation (executed, skipped or withdrawn) could not be recorded. Default: a warning on the
   * console.
   */
  readonly onUnrecorded?: (error: unknown, intent_id: string) => void;
}

/** Thrown instead of executing a refused action. The message gives the reason, for models and people. */
export class ActionBlocked extends Error {
  readonly intent_id: string;
  /** The decision when its outcome became final. */
  readonly decision: Decision;

  /** `now`: current blocks of an approved action. */
  constructor(decision: Decision, now: readonly Block[] = []) {
    super(blockedText(decision, now));
    this.name = "ActionBlocked";
    this.intent_id = decision.intent_id;
    this.decision = decision;
  }
}

interface Block {
  readonly policy: string;
  readonly message: string;
}

/** Thrown instead of executing an action that was claimed earlier, because it may have been executed already. */
export class ClaimedBefore extends Error {
  readonly intent_id: string;
  /** `claimed` and `unknown`: no result was reported. */
  readonly execution: Execution;

  constructor(intent_id: string, execution: Execution) {
    super(claimedText(intent_id, execution));
    this.name = "ClaimedBefore";
    this.intent_id = intent_id;
    this.execution = execution;
  }
}

type Run<Result> = (content: ActionContent, decision: Decision) => Result | Promise<Result>;
type DoneBefore<Result> = Required<Pick<CarryOutOptions<Result>, "onDoneBefore">>;
type SubmitTerms = { readonly mode?: "shadow" | undefined };

/**
 * Submits an action, waits for reviewers if needed, claims it, and runs it as approved: with the submitted or the
 * modified content. Returns the result without waiting for its recording. An action that was already executed does not
 * run again; the result is that of `onDoneBefore`, or undefined.
 *
 * Throws `ActionBlocked`, `ClaimedBefore`, the error of `run`, the signal's reason, a TypeError for content that JSON
 * cannot represent, and the client's errors. Unless the error is that of `run`, this call ran nothing.
 */
export function carryOut<Result>(
  client: DecidingClient,
  submission: IntentSubmission,
  run: Run<Result>,
  options: CarryOutOptions<Result> & DoneBefore<Result> & SubmitTerms,
): Promise<Result>;
export function carryOut<Result>(
  client: DecidingClient,
  submission: IntentSubmission,
  run: Run<Result>,
  options?: CarryOutOptions<Result> & SubmitTerms,
): Promise<Result | undefined>;
export async function carryOut<Result>(
  client: DecidingClient,
  submission: IntentSubmission,
  run: Run<Result>,
  options: CarryOutOptions<Result> & SubmitTerms = {},
): Promise<Result | undefined> {
  const { mode, signal } = options;
  // Copied, so that changes during the review do not affect the action.
  const content = plainContent(submission.intent.payload?.content ?? {});
  const { decision } = await client.submitIntent({ ...submission, claim: "required" }, { mode, signal });
  return carryOutDecided(client, decision, content, run, options);
}

/** As `carryOut` for a submitted action, with the `content` of its submission. */
export function carryOutDecided<Result>(
  client: Omit<DecidingClient, "submitIntent">,
  asked: Decision,
  content: ActionContent,
  run: Run<Result>,
  options: CarryOutOptions<Result> & DoneBefore<Result>,
): Promise<Result>;
export function carryOutDecided<Result>(
  client: Omit<DecidingClient, "submitIntent">,
  asked: Decision,
  content: ActionContent,
  run: Run<Result>,
  options?: CarryOutOptions<Result>,
): Promise<Result | undefined>;
export async function carryOutDecided<Result>(
  client: Omit<DecidingClient, "submitIntent">,
  asked: Decision,
  content: ActionContent,
  run: Run<Result>,
  options: CarryOutOptions<Result> = {},
): Promise<Result | undefined> {
  const { signal, onMessage, failureOf = () => null, onDoneBefore = () => undefined, onUnrecorded = warn } = options;
  const { intent_id } = asked;
  const tell = (told: Promise<unknown>): void =>
    void told
      .catch((error: unknown) => onUnrecorded(error, intent_id))
      .catch((error: unknown) => warn(error, intent_id));
  const record = (observation: ObservationInput): void => tell(client.recordObservation(intent_id, observation));
  const decision = asked.status === "pending" ? await outcomeOf(client, asked, tell, options) : asked;
  const approved = contentOf(decision, content);
  if (approved === null || signal?.aborted === true) {
    record({ status: "skipped" });
    signal?.throwIfAborted();
    throw new ActionBlocked(decision);
  }
  if (decision.message_to_agent !== undefined) onMessage?.(decision.message_to_agent, decision);
  try {
    await claim(client, decision);
    signal?.throwIfAborted();
  } catch (error) {
    if (error instanceof ClaimedBefore && error.execution.status === "executed")
      return onDoneBefore(error.execution, intent_id);
    // Recorded even if the claim got no answer: if it took effect, the service must know that nothing was executed.
    if (!(error instanceof ClaimedBefore)) record({ status: "skipped" });
    throw error;
  }
  let result: Result;
  try {
    result = await run(approved, decision);
  } catch (error) {
    record({ status: "failed", detail: clipped(thrownText(error)) });
    throw error;
  }
  if (options.goesOn?.(result) !== true) record(observationOf(result, failureOf));
  return result;
}

/** Waits for reviewers. If the wait is aborted, the action may be withdrawn. */
async function outcomeOf<Result>(
  client: Pick<Client, "waitForOutcome" | "withdrawEscalation">,
  pending: Decision,
  tell: (told: Promise<unknown>) => void,
  { signal, withdraw = false, onPending }: CarryOutOptions<Result>,
): Promise<Decision> {
  const { intent_id, escalation_id } = pending;
  onPending?.(pending);
  try {
    return await client.waitForOutcome(intent_id, signal);
  } catch (error) {
    if (withdraw && signal?.aborted === true && escalation_id !== null) tell(client.withdrawEscalation(escalation_id));
    throw error;
  }
}

/** Throws `ClaimedBefore`, `ActionBlocked` if current rules block the action, and the client's errors. */
async function claim(client: Pick<Client, "claimIntent">, decision: Decision): Promise<void> {
  const { intent_id } = decision;
  try {
    await client.claimIntent(intent_id, newIdempotencyKey());
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.code === "already_claimed") throw new ClaimedBefore(intent_id, executionIn(error));
    if (error.code === "handed_on") throw new ClaimedBefore(intent_id, { status: "handed_on", at: null, by: null });
    if (error.code === "blocked_now") throw new ActionBlocked(decision, error.details as unknown as readonly Block[]);
    throw error;
  }
}

function executionIn({ details: [first = {}] }: ApiError): Execution {
  const { execution, claimed_at, claimed_by } = first as {
    readonly execution?: Execution["status"];
    readonly claimed_at?: string;
    readonly claimed_by?: Execution["by"];
  };
  return { status: execution ?? "claimed", at: claimed_at ?? null, by: claimed_by ?? null };
}

/**
 * Returns what to record about a result. Never throws, because a caller that gets an error might repeat the action.
 */
export function observationOf<Result>(result: Result, failureOf: (result: Result) => string | null): ObservationInput {
  try {
    const failure = failureOf(result);
    return failure === null ? { status: "executed" } : { status: "failed", detail: clipped(failure) };
  } catch (error) {
    return { status: "executed", detail: clipped(`Could not tell whether it failed: ${thrownText(error)}`) };
  }
}

/**
 * Returns the content that may be executed; null: none. Uses the outcome, because in shadow mode no verdict stops an
 * action.
 */
export function contentOf({ outcome, modified_content }: Decision, submitted: ActionContent): ActionContent | null {
  if (outcome === "approve") return submitted;
  return outcome === "approve_modified" ? modified_content : null;
}

const reviews = {
  decided: "A reviewer decided against it.",
  timed_out: "Nobody decided on it in time.",
  cancelled: "Its review was cancelled.",
} as const;

function blockedText(
  { intent_id, escalation_status, reasons, message_to_agent }: Decision,
  now: readonly Block[],
): string {
  if (now.length > 0) {
    const blocks = now.map(({ policy, message }) => `${policy}: ${message}`);
    return ["Blocked, nothing was done. It was approved, but is blocked now.", ...blocks, `(${intent_id})`].join(" ");
  }
  const review = escalation_status === null || escalation_status === "pending" ? [] : [reviews[escalation_status]];
  const why = reasons.map(({ policy, message }) => `${policy}: ${message}`);
  const said = message_to_agent === undefined ? [] : [`The reviewer says to you: ${message_to_agent}`];
  return ["Blocked, nothing was done.", ...review, ...said, ...why, `(${intent_id})`].join(" ");
}

const claimedTexts: Readonly<Record<Execution["status"], string>> = {
  none: "Claimed before, outcome unknown.",
  claimed: "Claimed before, outcome unknown.",
  unknown: "Claimed before, outcome unknown.",
  executed: "Already executed; its result is not known here.",
  failed: "Already executed, and it failed.",
  skipped: "Claimed before, and skipped.",
  handed_on: "Its approval went to an equal action.",
  revoked: "Its approval was revoked.",
};

function claimedText(intent_id: string, { status, at, by }: Execution): string {
  const who = [at === null ? [] : [`at ${at}`], by?.id == null ? [] : [`by ${by.id}`]].flat();
  const when = who.length === 0 ? [] : [`It was claimed ${who.join(" ")}.`];
  const todo = "It was not repeated. Find out whether it was executed before you submit it again.";
  return [claimedTexts[status], ...when, todo, `(${intent_id})`].join(" ");
}

/** Equals `limits.comment_chars_max`, without importing the contract's tables. A test compares both. */
export const detail_chars_max = 4_000;

/** Never throws, because the caller must get the original error. */
function thrownText(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return "the thrown value cannot be converted to text";
  }
}

/** Returns a text that the service accepts: not too long, without NUL and lone surrogates. */
function clipped(text: string): string {
  return text.slice(0, detail_chars_max).replaceAll(/[\0\p{Surrogate}]/gu, "\ufffd");
}

function warn(error: unknown, intent_id: string): void {
  console.warn(`countersign: the result of ${intent_id} could not be recorded`, error);
}
