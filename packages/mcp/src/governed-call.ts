/** One call of a tool, from its question to its answer. */
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

/** A call as the client made it. */
export interface AskedCall extends Asked {
  readonly submission: IntentSubmission;
  /** An intent about the same call, made before, on which people were still deciding; null: this is a new one. */
  readonly review: string | null;
  /** Aborted with `StillPending` or `Cancelled`. */
  readonly signal: AbortSignal;
}

/** What a call works with. */
export interface CallDeps {
  readonly client: DecidingClient & Pick<Client, "getDecision">;
  readonly mode: "shadow" | undefined;
  /** Withdraws a call that the client cancels while people decide on it. */
  readonly withdraws: boolean;
  /** Hands the call to the server with this content; resolves to its answer. */
  readonly forward: (content: JsonObject) => Promise<Answered>;
  readonly toClient: (line: string) => void;
  /** Tells the client itself, by the id that the call has. */
  readonly answer: (message: JsonObject) => void;
  /** What the answer to the call would tell is told with the result of the task that it became. */
  readonly tellLater: (task_id: string, tell: (line: string) => string) => void;
  /** People look at it: the client is kept waiting from now on. Gives what ends that. */
  readonly wait: (decision: Decision) => () => void;
  /** Nobody waits for these people's decision any more; the same call may ask for it again. */
  readonly leave: (intent_id: string) => void;
  readonly note: (text: string) => void;
}

/** An answer of the server, and the line that it stood in. */
export interface Answered {
  readonly message: JsonObject;
  readonly line: string;
}

/** What a call was made with, and what let it through. */
interface Approved {
  readonly approved: JsonObject;
  readonly decision: Decision;
}

/** People have not decided in time. The message tells the model what to do. */
export class StillPending extends Error {
  constructor(waited_ms: number) {
    super(
      `A person has to decide on this and has not within ${Math.round(waited_ms / 1000)} s. Nothing was done. Call the tool again with the same arguments to go on waiting.`,
    );
  }
}

/** Nobody hears of the answer any more. */
export class Cancelled extends Error {}

/** Has a call decided, made where it may be, and answered. Never rejects. */
export async function governCall(deps: CallDeps, call: AskedCall): Promise<void> {
  const { mode, toClient, answer } = deps;
  const { submission, review, signal } = call;
  let endWait = (): void => undefined;
  const client: CallDeps["client"] = {
    ...deps.client,
    getDecision: (...given) => inTime(deps.client.getDecision(...given), signal),
    waitForOutcome: (...given) => inTime(deps.client.waitForOutcome(...given), signal),
    // Nobody waits for people any more: a time limit during the claim must not take the answer from the client.
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
      deps.note(`what came of ${intent_id} could not be recorded: ${errorText(error)}`),
  };
  try {
    const content = submission.intent.payload?.content ?? {};
    const done =
      review === null
        ? await carryOut(client, submission, run, terms)
        : await carryOutDecided(client, await client.getDecision(review, { signal }), content, run, terms);
    if (!signal.aborted) toClient(lineFor(done, call, deps.tellLater));
  } catch (error) {
    if (pending !== null && !made && !isOver(error)) {
      const withdrawn = error instanceof Cancelled && (await withdraw(deps, escalation_id));
      if (!withdrawn) deps.leave(pending);
    }
    const told = () => (made ? noAnswer(call, error, deps.note) : whyNotMade(call, error, pending, deps.note));
    if (!(error instanceof Cancelled)) answer(told());
  } finally {
    endWait();
  }
}

/** Takes a cancelled call out of review. Returns false if it was not to be, if people decided first, or if the service is away. */
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

/** A decision that comes when nobody waits any more is for the same call, made again. */
async function inTime(asked: Promise<Decision>, signal: AbortSignal): Promise<Decision> {
  const decision = await asked;
  signal.throwIfAborted();
  return decision;
}

/** Whether there is nothing more to hear of a review: of a service that is away there is, when it is back. */
function isOver(error: unknown): boolean {
  return (
    error instanceof ActionBlocked ||
    error instanceof ClaimedBefore ||
    (error instanceof ApiError && error.status === 404)
  );
}

const changed_text = "Countersign changed this call before it was made. It was made with: ";
const message_text = "The person who approved this call says to you: ";

/** The server's answer, as it came unless the call was changed or a reviewer wrote something to the model. */
function lineFor(done: Answered & Approved, { as_task }: Asked, tellLater: CallDeps["tellLater"]): string {
  const { message, line, approved, decision } = done;
  const changed = decision.outcome === "approve_modified" ? [`${changed_text}${JSON.stringify(approved)}`] : [];
  const said_to_model = decision.message_to_agent === undefined ? [] : [`${message_text}${decision.message_to_agent}`];
  const texts = [...changed, ...said_to_model];
  if (texts.length === 0) return line;
  const tell = (said: string) => annotatedAnswer(said, texts, decision.intent_id);
  const task_id = as_task ? taskIn(message["result"]) : null;
  if (task_id === null) return tell(line);
  tellLater(task_id, tell);
  return line;
}

/** The task that a call became; null: it was answered. */
function taskIn(result: Json | undefined): string | null {
  const task = isObject(result) ? result["task"] : null;
  const task_id = isObject(task) ? task["taskId"] : null;
  return typeof task_id === "string" ? task_id : null;
}

/** What the server says of a call that failed; null: it did not. */
function failureOf({ message: { error, result } }: Answered): string | null {
  if (result === undefined || (error ?? null) !== null) return `error of the server: ${textIn(error)}`;
  return isObject(result) && result["isError"] === true ? "the tool says that it failed" : null;
}

/** Servers say all sorts of things; what they did stays done, whatever they say. */
export function textIn(error: Json | undefined): string {
  const message = isObject(error) ? error["message"] : null;
  return typeof message === "string" ? message : "it does not say which";
}

/** For a model that must not believe that nothing was done. */
function noAnswer(call: Asked, error: unknown, note: CallDeps["note"]): JsonObject {
  const text = `The call was made, but its answer cannot be handed on: ${errorText(error)}`;
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
