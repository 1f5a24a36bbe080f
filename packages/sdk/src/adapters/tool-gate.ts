/** Decides one tool call of a framework, for all adapters, and words the answer for the model. */
import type { Decision, Execution, IntentSubmission } from "@countersign/contract";
import {
  ActionBlocked,
  type CarryOutOptions,
  ClaimedBefore,
  carryOutDecided,
  contentOf,
  type DecidingClient,
} from "../carry-out.ts";
import type { Client } from "../client.ts";
import { ApiError } from "../errors.ts";
import { type SubmissionTerms, submissionOf, wholeResult } from "../guard.ts";
import { type ActionContent, plainContent } from "../plain-content.ts";

/** Methods of the client that an adapter needs. */
export type GateClient = DecidingClient & Pick<Client, "getDecision">;

export interface GateOptions extends SubmissionTerms, Pick<CarryOutOptions<unknown>, "withdraw" | "onUnrecorded"> {
  /**
   * Says how a call waits for people. `wait` (default): the call waits as long as the review takes. `suspend`:
   * the framework saves its state and ends the run, and a later run resumes the call.
   */
  readonly review?: "wait" | "suspend";
  /** Called when a call waits for reviewers. */
  readonly onPending?: (review: Review) => void;
}

/** A call as a framework reports it. */
export interface ToolCall {
  readonly name: string;
  readonly args: unknown;
  /** The framework's id of the call. Undefined: each call is a new action. */
  readonly call_id?: string | undefined;
  /** The framework's name of the conversation. It becomes `agent.session_id`. */
  readonly session?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A review that is not decided yet. */
export interface Review {
  readonly intent_id: string;
  readonly escalation_id: string | null;
}

interface Allowed {
  readonly kind: "allowed";
  readonly args: ActionContent;
  /** True: policies or reviewers changed the arguments. */
  readonly changed: boolean;
  /** Set if people had to decide, and nobody has claimed the call. */
  readonly reviewed: Review | null;
}

interface Refused {
  readonly kind: "refused";
  /** The reason, for the model. */
  readonly text: string;
  readonly intent_id: string;
}

export interface Suspended {
  readonly kind: "suspended";
  readonly review: Review;
}

interface Ran<Result> {
  readonly kind: "ran";
  readonly result: Result;
  /** Texts that the model must read besides the result: changed arguments, and messages of reviewers. */
  readonly notes: readonly string[];
}

/** How the executed arguments came about. */
interface Approval {
  /** True: policies or reviewers changed the arguments. */
  readonly changed: boolean;
  readonly notes: readonly string[];
}

/** A claimed call that the framework executes itself. The adapter must call `succeeded` or `failed` afterwards. */
export interface Admitted extends Approval {
  readonly kind: "admitted";
  readonly args: ActionContent;
  readonly succeeded: () => void;
  readonly failed: (reason: string) => void;
}

type Execute<Result> = (args: ActionContent, approval: Approval) => Result | Promise<Result>;

export interface ToolGate {
  /** True: `review` is `suspend`. */
  readonly suspends: boolean;
  /** Returns the decision on a call and executes nothing. It waits for reviewers only if `review` is `wait`. */
  ask(call: ToolCall): Promise<Allowed | Refused | Suspended>;
  /** Executes an approved call once, with the approved arguments, and records the result. */
  run<Result>(call: ToolCall, execute: Execute<Result>): Promise<Ran<Result> | Refused | Suspended>;
  /** Claims an approved call for the framework, which executes it after that. */
  admit(call: ToolCall): Promise<Admitted | Refused | Suspended>;
  /** Records that a call will not be executed. */
  skip(call: Pick<Refused, "intent_id">): void;
}

/**
 * Creates the gate of one adapter. `framework` becomes `agent.framework`.
 *
 * All methods throw a TypeError for arguments that are not valid JSON, and the client's errors. Then nothing ran.
 */
export function createToolGate(client: GateClient, framework: string, options: GateOptions): ToolGate {
  const { mode, withdraw, onPending, onUnrecorded } = options;
  const suspends = options.review === "suspend";

  /** The answer to a repeated submission is old, so a pending one is read again. */
  async function decided(call: ToolCall): Promise<{ decision: Decision; content: ActionContent }> {
    const { name, args, call_id, session, signal } = call;
    const content = plainContent(args ?? {});
    const agent = { framework, ...options.agent, ...(session !== undefined && { session_id: session }) };
    const submission = await submissionOf({ ...options, agent }, name, content);
    const key = call_id === undefined ? undefined : await keyOf(call_id, mode, submission);
    const first = await submit(client, submission, {
      mode,
      signal,
      ...(key !== undefined && { idempotency_key: key }),
    });
    if (first.status === "final") return { decision: first, content };
    if (suspends) return { decision: await client.getDecision(first.intent_id, { signal }), content };
    onPending?.(reviewOf(first));
    return { decision: first, content };
  }

  async function run<Result>(call: ToolCall, execute: Execute<Result>): Promise<Ran<Result> | Refused | Suspended> {
    const { decision, content } = await decided(call);
    if (suspends && decision.status === "pending") return suspended(decision, onPending);
    let approval: Approval | null = null;
    const once = async (args: ActionContent, final: Decision) => {
      approval = { changed: final.outcome === "approve_modified", notes: notesOf(args, final) };
      return wholeResult(call.name, await execute(args, approval));
    };
    try {
      const result = await carryOutDecided(client, decision, content, once, {
        ...{ signal: call.signal, withdraw, onDoneBefore },
        ...(onUnrecorded !== undefined && { onUnrecorded }),
      });
      return { kind: "ran", result: result as Result, notes: (approval as Approval | null)?.notes ?? [] };
    } catch (error) {
      if (approval === null && (error instanceof ActionBlocked || error instanceof ClaimedBefore))
        return refused(error);
      throw error;
    }
  }

  return {
    suspends,
    run,

    async ask(call) {
      const { decision, content } = await decided(call);
      const final = decision.status === "final" || suspends;
      const now = final ? decision : await client.waitForOutcome(decision.intent_id, call.signal);
      if (now.status === "pending") return suspended(now, onPending);
      const approved = contentOf(now, content);
      if (approved === null) return refused(new ActionBlocked(now));
      const is_held = now.verdict === "escalate" && now.enforced;
      const reviewed = is_held && ["none", "skipped"].includes(now.execution?.status ?? "none") ? reviewOf(now) : null;
      return { kind: "allowed", args: approved, changed: now.outcome === "approve_modified", reviewed };
    },

    admit: (call) => admitted(run, call),

    skip: ({ intent_id }) =>
      void client.recordObservation(intent_id, { status: "skipped" }).catch((error: unknown) => {
        if (onUnrecorded === undefined)
          console.warn(`countersign: ${intent_id} could not be recorded as skipped`, error);
        else onUnrecorded(error, intent_id);
      }),
  };
}

/** The run lasts until the adapter reports how the framework's own execution ended. */
function admitted(run: ToolGate["run"], call: ToolCall): Promise<Admitted | Refused | Suspended> {
  return new Promise((resolve, reject) => {
    const execute = (args: ActionContent, approval: Approval) =>
      new Promise<void>((succeeded, failed) => {
        resolve({ kind: "admitted", args, ...approval, succeeded, failed: (reason) => failed(new Error(reason)) });
      });
    run(call, execute).then((end) => end.kind !== "ran" && resolve(end), reject);
  });
}

function onDoneBefore(execution: Execution, intent_id: string): never {
  throw new ClaimedBefore(intent_id, execution);
}

/**
 * Returns the stored decision if another process has submitted the same call. The key contains everything but the
 * facts, so a conflict means that only the facts differ: the facts of the first submission count.
 */
async function submit(
  client: GateClient,
  submission: IntentSubmission,
  terms: Parameters<GateClient["submitIntent"]>[1],
): Promise<Decision> {
  try {
    return (await client.submitIntent({ ...submission, claim: "required" }, terms)).decision;
  } catch (error) {
    const intent_id =
      error instanceof ApiError && error.code === "idempotency_conflict" && error.details[0]?.["intent_id"];
    if (typeof intent_id !== "string") throw error;
    return client.getDecision(intent_id, { signal: terms?.signal });
  }
}

/** Returns an Idempotency-Key of the call. Object members are sorted, because a framework's store may reorder them. */
async function keyOf(call_id: string, mode: string | undefined, { intent, membrane_id }: IntentSubmission) {
  const text = JSON.stringify([call_id, mode, membrane_id, intent], (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return `call-${Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

function reviewOf({ intent_id, escalation_id }: Decision): Review {
  return { intent_id, escalation_id };
}

function suspended(decision: Decision, onPending: GateOptions["onPending"]): Suspended {
  const review = reviewOf(decision);
  onPending?.(review);
  return { kind: "suspended", review };
}

function refused(error: ActionBlocked | ClaimedBefore): Refused {
  const advice = error instanceof ActionBlocked ? `\n${refused_advice}` : "";
  return { kind: "refused", text: `${error.message}${advice}`, intent_id: error.intent_id };
}

const refused_advice =
  "Do not repeat this call and do not try to get the same result in another way. Tell the user why it was refused.";

/**
 * Returns true if the framework must suspend the call. Without an answer of the service it is false, because the call's
 * execution asks again and then tells the model.
 */
export async function isSuspended(gate: ToolGate, call: ToolCall): Promise<boolean> {
  if (!gate.suspends) return false;
  return gate.ask(call).then(
    ({ kind }) => kind === "suspended",
    () => false,
  );
}

/** Returns the text for a model whose framework cannot suspend, or was resumed too early. */
export function pendingText({ review: { intent_id } }: Suspended): string {
  return `A person must decide on this call and has not decided yet. Nothing was done. Do not repeat it now. (${intent_id})`;
}

/** Returns the text for a model whose call was not decided. */
export function undecidedText(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return `Countersign gave no decision, so nothing was done: ${reason}`;
}

function notesOf(args: ActionContent, { outcome, message_to_agent }: Decision): string[] {
  const changed =
    outcome === "approve_modified"
      ? [`Countersign changed this call before it was made. It was made with: ${JSON.stringify(args)}`]
      : [];
  const said =
    message_to_agent === undefined ? [] : [`The person who approved this call says to you: ${message_to_agent}`];
  return [...changed, ...said];
}

/** Returns a result as text, with the notes at its end. */
export function textWithNotes(result: unknown, notes: readonly string[]): string {
  const text = typeof result === "string" ? result : (JSON.stringify(result) ?? "");
  return [text, ...notes].join("\n\n");
}
