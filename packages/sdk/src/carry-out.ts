/** From the question to the deed: an action is done only as it was let through, and what came of it is recorded. */
import type { Decision, IntentSubmission, ObservationInput } from "@countersign/contract";
import type { Client } from "./client.ts";
import { type ActionContent, plainContent } from "./plain-content.ts";

/** The part of the client that carrying out needs. */
export type DecidingClient = Pick<
  Client,
  "submitIntent" | "waitForOutcome" | "recordObservation" | "withdrawEscalation"
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
  /** The action was carried out (or left, or withdrawn) and the service could not be told so. Default: a warning on the console. */
  readonly onUnrecorded?: (error: unknown, intent_id: string) => void;
}

/** Thrown in place of an action that may not be done. The message tells why, to a model as well as to a person. */
export class ActionBlocked extends Error {
  readonly intent_id: string;
  /** As it was when its outcome was final. */
  readonly decision: Decision;

  constructor(decision: Decision) {
    super(blockedText(decision));
    this.name = "ActionBlocked";
    this.intent_id = decision.intent_id;
    this.decision = decision;
  }
}

/**
 * Asks whether an action may be done, waits for people where they have to look at it, and runs it as it was let through: with
 * the content that was submitted, or with what policies or a reviewer made of it. Records what came of it without keeping the
 * result waiting. Throws `ActionBlocked`, what `run` throws, the signal's reason, a TypeError for content that JSON cannot write,
 * and what the client throws: then there is no decision and nothing is run.
 */
export async function carryOut<Result>(
  client: DecidingClient,
  submission: IntentSubmission,
  run: (content: ActionContent, decision: Decision) => Result | Promise<Result>,
  options: CarryOutOptions<Result> & { readonly mode?: "shadow" | undefined } = {},
): Promise<Result> {
  const { mode, signal } = options;
  // A copy: whoever changes the object while people look at it changes nothing of what is done.
  const content = plainContent(submission.intent.payload?.content ?? {});
  const { decision } = await client.submitIntent(submission, { mode, signal });
  return carryOutDecided(client, decision, content, run, options);
}

/** The same for an action that was submitted before, with the `content` it was submitted with. */
export async function carryOutDecided<Result>(
  client: Omit<DecidingClient, "submitIntent">,
  asked: Decision,
  content: ActionContent,
  run: (content: ActionContent, decision: Decision) => Result | Promise<Result>,
  {
    signal,
    withdraw = false,
    onPending,
    onMessage,
    failureOf = () => null,
    onUnrecorded = warn,
  }: CarryOutOptions<Result> = {},
): Promise<Result> {
  const { intent_id } = asked;
  const tell = (told: Promise<unknown>): void =>
    void told
      .catch((error: unknown) => onUnrecorded(error, intent_id))
      .catch((error: unknown) => warn(error, intent_id));
  const record = (observation: ObservationInput): void => tell(client.recordObservation(intent_id, observation));
  let decision = asked;
  if (decision.status === "pending") {
    onPending?.(decision);
    try {
      decision = await client.waitForOutcome(intent_id, signal);
    } catch (error) {
      const { escalation_id } = asked;
      if (withdraw && signal?.aborted === true && escalation_id !== null)
        tell(client.withdrawEscalation(escalation_id));
      throw error;
    }
  }
  const approved = contentOf(decision, content);
  if (approved === null || signal?.aborted === true) {
    record({ status: "skipped" });
    signal?.throwIfAborted();
    throw new ActionBlocked(decision);
  }
  if (decision.message_to_agent !== undefined) onMessage?.(decision.message_to_agent, decision);
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

function blockedText({ intent_id, escalation_status, reasons, message_to_agent }: Decision): string {
  const review = escalation_status === null || escalation_status === "pending" ? [] : [reviews[escalation_status]];
  const why = reasons.map(({ policy, message }) => `${policy}: ${message}`);
  const said = message_to_agent === undefined ? [] : [`The reviewer says to you: ${message_to_agent}`];
  return ["Blocked, nothing was done.", ...review, ...said, ...why, `(${intent_id})`].join(" ");
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
