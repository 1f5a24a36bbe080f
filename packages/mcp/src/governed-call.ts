import type { Decision, Execution, IntentSubmission } from "@countersign/contract";
import {
  ActionBlocked,
  type ActionContent,
  ApiError,
  ClaimedBefore,
  type Client,
  carryOut,
  carryOutDecided,
  type DecidingClient,
} from "@countersign/sdk";
import { annotatedAnswer } from "./annotated-answer.ts";
import { type Asked, isObject, type Json, type JsonObject, noResult } from "./messages.ts";

export interface AskedCall extends Asked {
  readonly submission: IntentSubmission;
  /** An earlier intent for the same call that is still in review. */
  readonly review: string | null;
  /** Aborted with `StillPending` or `Cancelled`. */
  readonly signal: AbortSignal;
}

export interface CallDeps {
  readonly client: DecidingClient & Pick<Client, "getDecision">;
  readonly mode: "shadow" | undefined;
  /** True: withdraw a call that the client cancels during its review. */
  readonly withdraws: boolean;
  /** Sends the call with this content to the server; resolves to its answer. */
  readonly forward: (content: JsonObject) => Promise<Answered>;
  readonly toClient: (line: string) => void;
  readonly answer: (message: JsonObject) => void;
  /** For a call that became a task: adds texts to the task's later result. */
  readonly addLater: (task_id: string, add: (line: string) => string) => void;
  /** Tells the client to wait for a review, until the returned function is called. */
  readonly wait: (decision: Decision) => () => void;
  /** Marks the review as free, so that an equal call may resume it. */
  readonly leave: (intent_id: string) => void;
  readonly note: (text: string) => void;
}

export interface Answered {
  readonly message: JsonObject;
  readonly line: string;
}

interface Approved {
  readonly approved: JsonObject;
  readonly decision: Decision;
}

/** The review took too long. The message tells the model what to do. */
export class StillPending extends Error {
  constructor(waited_ms: number) {
    super(
      `A person must decide on this and has not within ${Math.round(waited_ms / 1000)} s. Nothing was done. Call the tool again with the same arguments to continue waiting.`,
    );
  }
}

/** The client no longer expects an answer. */
export class Cancelled extends Error {}

/** Gets a decision on a call, makes it if approved, and answers. Never rejects. */
export async function governCall(deps: CallDeps, call: AskedCall): Promise<void> {
  const { mode, toClient, answer } = deps;
  const { submission, review, signal } = call;
  let endWait = (): void => undefined;
  const client: CallDeps["client"] = {
    ...deps.client,
    getDecision: (...given) => inTime(deps.client.getDecision(...given), signal),
    waitForOutcome: (...given) => inTime(deps.client.waitForOutcome(...given), signal),
    // The review is over, so its time limit must not replace the client's answer.
    claimIntent: (...given) => {
      endWait();
      return deps.client.claimIntent(...given);
    },
  };
  let pending = review;
  let escalation_id: string | null = null;
  let made = false;
  const run = async (approved: ActionContent, decision: Decision) => {
    made = true;
    return { ...(await deps.forward(approved as JsonObject)), approved: approved as JsonObject, decision };
  };
  const terms = {
    ...{ mode, signal, failureOf },
    onDoneBefore: (execution: Execution, intent_id: string): never => {
      throw new ClaimedBefore(intent_id, execution);
    },
    onPending: (decision: Decision) => {
      pending = decision.intent_id;
      escalation_id = decision.escalation_id;
      endWait = deps.wait(decision);
    },
    onUnrecorded: (error: unknown, intent_id: string) =>
      deps.note(`the outcome of ${intent_id} could not be recorded: ${errorText(error)}`),
  };
  try {
    const content = submission.intent.payload?.content ?? {};
    const done =
      review === null
        ? await carryOut(client, submission, run, terms)
        : await carryOutDecided(client, await client.getDecision(review, { signal }), content, run, terms);
    if (!signal.aborted) toClient(lineFor(done, call, deps.addLater));
  } catch (error) {
    if (pending !== null && !made && !isOver(error)) {
      const withdrawn = error instanceof Cancelled && (await withdraw(deps, escalation_id));
      if (!withdrawn) deps.leave(pending);
    }
    const errorAnswer = () => (made ? noAnswer(call, error, deps.note) : whyNotMade(call, error, pending, deps.note));
    if (!(error instanceof Cancelled)) answer(errorAnswer());
  } finally {
    endWait();
  }
}

/**
 * Withdraws a cancelled call from review. Returns false if it must stay, is already decided, or the service is away.
 */
async function withdraw({ client, withdraws, note }: CallDeps, escalation_id: string | null): Promise<boolean> {
  if (!withdraws || escalation_id === null) return false;
  try {
    await client.withdrawEscalation(escalation_id, { reason: "The client cancelled the call." });
    return true;
  } catch (error) {
    const closed = error instanceof ApiError && error.code === "escalation_closed";
    if (!closed) note(`${escalation_id} could not be withdrawn: ${errorText(error)}`);
    return false;
  }
}

/** Ignores a late decision: it applies to the next equal call. */
async function inTime(asked: Promise<Decision>, signal: AbortSignal): Promise<Decision> {
  const decision = await asked;
  signal.throwIfAborted();
  return decision;
}

/** Returns false after an outage of the service. */
function isOver(error: unknown): boolean {
  return (
    error instanceof ActionBlocked ||
    error instanceof ClaimedBefore ||
    (error instanceof ApiError && error.status === 404)
  );
}

const changed_text = "Countersign changed this call before it was made. It was made with: ";
const message_text = "The person who approved this call says to you: ";

/** Returns the server's answer, with texts if the call was modified or a reviewer wrote to the model. */
function lineFor(done: Answered & Approved, { as_task }: Asked, addLater: CallDeps["addLater"]): string {
  const { message, line, approved, decision } = done;
  const changed = decision.outcome === "approve_modified" ? [`${changed_text}${JSON.stringify(approved)}`] : [];
  const said_to_model = decision.message_to_agent === undefined ? [] : [`${message_text}${decision.message_to_agent}`];
  const texts = [...changed, ...said_to_model];
  if (texts.length === 0) return line;
  const add = (said: string) => annotatedAnswer(said, texts, decision.intent_id);
  const task_id = as_task ? taskIn(message["result"]) : null;
  if (task_id === null) return add(line);
  addLater(task_id, add);
  return line;
}

/** Returns the id of the task that a call became; null if it was answered. */
function taskIn(result: Json | undefined): string | null {
  const task = isObject(result) ? result["task"] : null;
  const task_id = isObject(task) ? task["taskId"] : null;
  return typeof task_id === "string" ? task_id : null;
}

/** Returns the error of a failed call; null if it succeeded. */
function failureOf({ message: { error, result } }: Answered): string | null {
  if (result === undefined || (error ?? null) !== null) return `error of the server: ${textIn(error)}`;
  return isObject(result) && result["isError"] === true ? "the tool reports a failure" : null;
}

/** Accepts any form of error, because servers differ and the call must be recorded. */
export function textIn(error: Json | undefined): string {
  const message = isObject(error) ? error["message"] : null;
  return typeof message === "string" ? message : "without a reason";
}

/** Returns an answer from which the model cannot conclude that nothing was done. */
function noAnswer(call: Asked, error: unknown, note: CallDeps["note"]): JsonObject {
  const text = `The call was made, but its answer cannot be passed on: ${errorText(error)}`;
  note(text);
  return noResult(call, text);
}

function whyNotMade(call: Asked, error: unknown, pending: string | null, note: CallDeps["note"]): JsonObject {
  if (error instanceof ActionBlocked || error instanceof ClaimedBefore)
    return noResult(call, error.message, error.intent_id);
  if (error instanceof StillPending) return noResult(call, `${error.message} (${pending})`, pending);
  const text = `Not decided, so nothing was done: ${errorText(error)}`;
  note(text);
  return noResult(call, text, pending);
}

function errorText(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  const details = error.details.map(({ path, message }) => [path, message].filter(Boolean).join(" ")).filter(Boolean);
  return [`${error.message} (${error.code})`, ...details].join(" ");
}
