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
  newIdempotencyKey,
  type TraceContext,
} from "@countersign/sdk";
import { type Asked, isObject, type JsonObject, noResult, textIn } from "../protocol/messages.ts";
import type { RoundState } from "../rounds/call-states.ts";
import { stepAfter, withState } from "../rounds/steps.ts";
import type { Task } from "../rounds/tasks.ts";
import { annotatedAnswer } from "./annotated-answer.ts";

export interface AskedCall extends Asked {
  readonly submission: IntentSubmission;
  /** An earlier intent for the same call that is still in review. */
  readonly review: string | null;
  /** The next round of a call that the server has begun. */
  readonly round: RoundState | null;
  readonly trace: TraceContext | undefined;
  /** Aborted with `StillPending`, `ServerEnded` or `Cancelled`. */
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
  /** Tells the client to wait for a review, until the returned function is called. */
  readonly hold: (decision: Decision) => () => void;
  /** Tells the client that people have decided. */
  readonly ruled: (decision: Decision) => void;
  /**
   * Returns the answer that asks the client to come back by itself; null: only the model can. `review`: the call's own
   * review, if there is one.
   */
  readonly comeBack: (review: string | null, pending: StillPending) => JsonObject | null;
  /** Marks the review as free, so that an equal call may resume it. */
  readonly leave: (intent_id: string) => void;
  /** Seals the state with which the client makes the next round. */
  readonly sealed: (state: RoundState) => string;
  /** Begins to watch a task that the server created. */
  readonly beginTask: (task_id: string, task: Task, state: JsonObject) => void;
  readonly note: (text: string) => void;
}

export interface Answered {
  readonly message: JsonObject;
  readonly line: string;
}

interface Done extends Answered {
  readonly approved: JsonObject;
  readonly decision: Decision;
}

/** The call still waits for people. The message tells the model what to do. */
export class StillPending extends Error {
  readonly intent_id: string;
  readonly escalation_id: string | null;
  /** True: the client must open the page of the review before it comes back. */
  readonly shows: boolean;

  /** `decision`: what people must decide on. That is the call, or the changed definition of its tool. */
  constructor(text: string, { intent_id, escalation_id }: Decision, shows: boolean) {
    super(text);
    this.intent_id = intent_id;
    this.escalation_id = escalation_id;
    this.shows = shows;
  }
}

/** The server ended, so the call gets no result. */
export class ServerEnded extends Error {
  constructor() {
    super("The server has ended. Nothing was done.");
  }
}

/** The client no longer expects an answer. */
export class Cancelled extends Error {}

/** The connection ended, so an equal call may come after a restart. Its review stays open. */
export class Disconnected extends Cancelled {}

/** Gets a decision on a call, makes it if approved, and answers. Never rejects. */
export async function governCall(deps: CallDeps, call: AskedCall): Promise<void> {
  const { signal, review, round } = call;
  let pending = review;
  let escalation_id: string | null = null;
  let endHold = (): void => undefined;
  let made = false;
  const watched: CallDeps = {
    ...deps,
    forward: (content) => {
      made = true;
      return deps.forward(content);
    },
    hold: (decision) => {
      pending = decision.intent_id;
      escalation_id = decision.escalation_id;
      endHold = deps.hold(decision);
      return endHold;
    },
  };
  try {
    const answer = await (round === null ? firstRound(watched, call) : nextRound(watched, call, round));
    if (!signal.aborted) deps.toClient(answer);
    else if (signal.reason instanceof ServerEnded) deps.answer(noResult(call, maybe_made));
  } catch (error) {
    const back = error instanceof StillPending ? deps.comeBack(pending, error) : null;
    if (pending !== null && back === null && !made && !isOver(error)) {
      const withdraws = error instanceof Cancelled && !(error instanceof Disconnected);
      if (!withdraws || !(await withdraw(deps, escalation_id))) deps.leave(pending);
    }
    const inWords = () => (made ? noAnswer(call, error, deps.note) : whyNotMade(call, error, pending, deps.note));
    if (!(error instanceof Cancelled)) deps.answer(back ?? inWords());
  } finally {
    endHold();
  }
}

/** Gets the decision, claims the action, makes the call, and returns the line for the client. */
async function firstRound(deps: CallDeps, call: AskedCall): Promise<string> {
  const { submission, review, trace, signal } = call;
  let endHold = (): void => undefined;
  let nonce = "";
  const client: CallDeps["client"] = {
    ...deps.client,
    submitIntent: (given, options) => deps.client.submitIntent(given, { ...options, trace }),
    waitForOutcome: async (...given) => {
      const decision = await inTime(deps.client.waitForOutcome(...given), signal);
      // The review is over, so its time limit must not replace the client's answer.
      endHold();
      deps.ruled(decision);
      return decision;
    },
    claimIntent: (intent_id, chosen) => {
      nonce = chosen;
      return deps.client.claimIntent(intent_id, chosen);
    },
  };
  const terms = {
    ...termsOf(deps, call),
    onPending: (decision: Decision) => {
      endHold = deps.hold(decision);
    },
  };
  const run = runOf(deps);
  if (review === null) return lineFor(deps, call, await carryOut(client, submission, run, terms), nonce);
  const decision = await inTime(deps.client.getDecision(review, { signal }), signal);
  if (decision.status === "final") deps.ruled(decision);
  const content = submission.intent.payload?.content ?? {};
  return lineFor(deps, call, await carryOutDecided(client, decision, content, run, terms), nonce);
}

/**
 * Makes another round of a claimed action, with the content that was decided for its first round. The claim passes on
 * to this round, which no other round can then have made.
 */
async function nextRound(deps: CallDeps, call: AskedCall, { intent_id, nonce }: RoundState): Promise<string> {
  const { submission, signal } = call;
  const next_nonce = newIdempotencyKey();
  const decision = await deps.client.claimIntent(intent_id, nonce, next_nonce).catch((error: unknown) => {
    const is_spent = error instanceof ApiError && error.code === "already_claimed";
    throw is_spent ? new RoundSpent(intent_id) : error;
  });
  if (signal.aborted) {
    const detail = "It ended between two rounds of the call.";
    const told = deps.client.recordObservation(intent_id, { status: "failed", detail });
    told.catch((error: unknown) => deps.note(unrecorded(intent_id, error)));
    signal.throwIfAborted();
  }
  const client = { ...deps.client, claimIntent: async () => decision };
  const content = submission.intent.payload?.content ?? {};
  const terms = { ...termsOf(deps, call), signal: undefined };
  return lineFor(deps, call, await carryOutDecided(client, decision, content, runOf(deps), terms), next_nonce);
}

function runOf({ forward }: CallDeps): (content: ActionContent, decision: Decision) => Promise<Done> {
  return async (content, decision) => {
    const approved = content as JsonObject;
    return { ...(await forward(approved)), approved, decision };
  };
}

function termsOf({ mode, note }: CallDeps, call: AskedCall) {
  return {
    ...{ mode, signal: call.signal, failureOf },
    goesOn: ({ message }: Done) => stepAfter(message, call) !== null,
    onDoneBefore: (execution: Execution, intent_id: string): never => {
      throw new ClaimedBefore(intent_id, execution);
    },
    onUnrecorded: (error: unknown, intent_id: string) => note(unrecorded(intent_id, error)),
  };
}

/** The state of a round was used before, or the action is over. */
class RoundSpent extends Error {
  readonly intent_id: string;

  constructor(intent_id: string) {
    super(
      `This round was made before, or its call is over. It was not repeated. Find out whether the call was executed before you call the tool again. (${intent_id})`,
    );
    this.intent_id = intent_id;
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

/**
 * Returns the server's answer for the client. At the end of the action it has texts if the call was modified or a
 * reviewer wrote to the model.
 */
function lineFor(deps: CallDeps, call: AskedCall, done: Done, nonce: string): string {
  const { message, line, approved, decision } = done;
  const { intent_id } = decision;
  const changed = decision.outcome === "approve_modified" ? [`${changed_text}${JSON.stringify(approved)}`] : [];
  const said_to_model = decision.message_to_agent === undefined ? [] : [`${message_text}${decision.message_to_agent}`];
  const texts = [...changed, ...said_to_model];
  const step = stepAfter(message, call);
  if (step?.kind === "round") {
    const { server_state } = step;
    return withState(line, deps.sealed({ kind: "round", intent_id, nonce, server_state }));
  }
  if (step?.kind === "task") deps.beginTask(step.task_id, { intent_id, texts }, step.task);
  return step === null && texts.length > 0 ? annotatedAnswer(line, texts, intent_id) : line;
}

/** Returns the error of a failed call; null if it succeeded. */
function failureOf({ message: { error, result } }: Answered): string | null {
  if (result === undefined || (error ?? null) !== null) return `error of the server: ${textIn(error)}`;
  return isObject(result) && result["isError"] === true ? "the tool reports a failure" : null;
}

const maybe_made =
  "The server ended while it carried out this call. Find out whether the call was executed before you call again.";

/** Returns an answer from which the model cannot conclude that nothing was done. */
function noAnswer(call: Asked, error: unknown, note: CallDeps["note"]): JsonObject {
  const text = `The call was made, but its answer cannot be passed on: ${errorText(error)}`;
  note(text);
  return noResult(call, text);
}

function whyNotMade(call: Asked, error: unknown, pending: string | null, note: CallDeps["note"]): JsonObject {
  if (error instanceof ActionBlocked || error instanceof ClaimedBefore || error instanceof RoundSpent)
    return noResult(call, error.message, error.intent_id);
  if (error instanceof StillPending) return noResult(call, `${error.message} (${error.intent_id})`, error.intent_id);
  if (error instanceof ServerEnded) return noResult(call, error.message, pending);
  const text = `Not decided, so nothing was done: ${errorText(error)}`;
  note(text);
  return noResult(call, text, pending);
}

function unrecorded(intent_id: string, error: unknown): string {
  return `the outcome of ${intent_id} could not be recorded: ${errorText(error)}`;
}

export function errorText(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  const details = error.details.map(({ path, message }) => [path, message].filter(Boolean).join(" ")).filter(Boolean);
  return [`${error.message} (${error.code})`, ...details].join(" ");
}
