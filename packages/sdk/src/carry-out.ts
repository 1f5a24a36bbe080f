/** From the question to the deed: an action is done once, and only as it was let through; what came of it is recorded. */
import type { Decision, Execution, IntentSubmission, ObservationInput } from "@countersign/contract";
import type { Client } from "./client.ts";
import { ApiError } from "./errors.ts";
import { newIdempotencyKey } from "./idempotency-key.ts";
import { type ActionContent, plainContent } from "./plain-content.ts";

/** The part of the client that carrying out needs. */
export type DecidingClient = Pick<
  Client,
  "submitIntent" | "waitForOutcome" | "claimIntent" | "recordObservation" | "withdrawEscalation"
>;

/** How an action is carried out. */
export interface CarryOutOptions<Result> {
  /** Ends the asking and the waiting for people, not the action itself once it has begun. */
  readonly signal?: AbortSignal | undefined;
  /** True: if `signal` ends the waiting for people, the action is withdrawn, so that they no longer see it. Default: it stays with them. */
  readonly withdraw?: boolean | undefined;
  /** Hears that people look at it: it may take minutes or hours. */
  readonly onPending?: (decision: Decision) => void;
  /** Hears what reviewers wrote to the agent when they let the action through. Of a blocked one `ActionBlocked` says it. */
  readonly onMessage?: (message: string, decision: Decision) => void;
  /** Why what came back is a failure, for actions that do not throw; null: it is none. Where it throws, it was carried out. */
  readonly failureOf?: (result: Result) => string | null;
  /**
   * Gives the result of an action that was carried out before, such as by this job before it was started again. Default: the
   * result is undefined.
   */
  readonly onDoneBefore?: (execution: Execution, intent_id: string) => Result;
  /** The action was carried out (or left, or withdrawn) and the service could not be told so. Default: a warning on the console. */
  readonly onUnrecorded?: (error: unknown, intent_id: string) => void;
}

/** Thrown in place of an action that may not be done. The message tells why, to a model as well as to a person. */
export class ActionBlocked extends Error {
  readonly intent_id: string;
  /** As it was when its outcome was final. */
  readonly decision: Decision;

  /** `now`: what blocks the action now, although it was let through; absent: nothing. */
  constructor(decision: Decision, now: readonly Block[] = []) {
    super(blockedText(decision, now));
    this.name = "ActionBlocked";
    this.intent_id = decision.intent_id;
    this.decision = decision;
  }
}

/** What blocks an action. */
interface Block {
  readonly policy: string;
  readonly message: string;
}

/** Thrown in place of an action that somebody claimed before: it may have been done already, so it is not done again. */
export class ClaimedBefore extends Error {
  readonly intent_id: string;
  /** What became of the action. `claimed` and `unknown`: nobody has reported it. */
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
 * Asks whether an action may be done, waits for people where they have to look at it, claims it, and runs it as it was let through:
 * with the content that was submitted, or with what policies or a reviewer made of it. Records what came of it without keeping the
 * result waiting. An action that was carried out before is not run again: the result is then that of `onDoneBefore`, or undefined.
 * Throws `ActionBlocked`, `ClaimedBefore`, what `run` throws, the signal's reason, a TypeError for content that JSON cannot write,
 * and what the client throws: then nothing is run.
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
  // A copy: whoever changes the object while people look at it changes nothing of what is done.
  const content = plainContent(submission.intent.payload?.content ?? {});
  const { decision } = await client.submitIntent({ ...submission, claim: "required" }, { mode, signal });
  return carryOutDecided(client, decision, content, run, options);
}

/** The same for an action that was submitted before, with the `content` it was submitted with. */
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
    // Nothing has begun yet.
    signal?.throwIfAborted();
  } catch (error) {
    if (error instanceof ClaimedBefore && error.execution.status === "executed")
      return onDoneBefore(error.execution, intent_id);
    // Also where no answer came: if the claim was made all the same, it is known that nothing was done.
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
  record(observationOf(result, failureOf));
  return result;
}

/** Waits for people. Whoever ends the waiting may withdraw the action. */
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

/** Claims the action for this run of it. Throws `ClaimedBefore`, `ActionBlocked` where the rules of now block it, and what the client throws. */
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

/** Never throws: whoever got an error in place of the result might do again what was done. */
function observationOf<Result>(result: Result, failureOf: (result: Result) => string | null): ObservationInput {
  try {
    const failure = failureOf(result);
    return failure === null ? { status: "executed" } : { status: "failed", detail: clipped(failure) };
  } catch (error) {
    return { status: "executed", detail: clipped(`Whether it failed could not be told: ${thrownText(error)}`) };
  }
}

/** What may be done now; null: nothing. By the outcome, as in shadow mode nothing is held back, whatever the verdict. */
function contentOf({ outcome, modified_content }: Decision, submitted: ActionContent): ActionContent | null {
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
  executed: "Carried out before; its result is not known here.",
  failed: "Carried out before, and it failed.",
  skipped: "Claimed before, and left out.",
  handed_on: "Its approval went to an equal action.",
  revoked: "Its approval was revoked.",
};

function claimedText(intent_id: string, { status, at, by }: Execution): string {
  const who = [at === null ? [] : [`at ${at}`], by?.id == null ? [] : [`by ${by.id}`]].flat();
  const when = who.length === 0 ? [] : [`It was claimed ${who.join(" ")}.`];
  const todo = "It was not done again. Find out whether it was done before you submit it anew.";
  return [claimedTexts[status], ...when, todo, `(${intent_id})`].join(" ");
}

/** `limits.comment_chars_max`, which would bring all of the contract's tables along; a test holds them together. */
export const detail_chars_max = 4_000;

/** Never throws: the caller gets what was thrown, not what comes of reading it. */
function thrownText(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return "what was thrown cannot be written";
  }
}

/** What the service takes as a text: neither NUL nor half a character, and not too long. */
function clipped(text: string): string {
  return text.slice(0, detail_chars_max).replaceAll(/[\0\p{Surrogate}]/gu, "\ufffd");
}

function warn(error: unknown, intent_id: string): void {
  console.warn(`countersign: what came of ${intent_id} could not be recorded`, error);
}
