/** Answers hooks of Claude Code with the operations on intents. See docs/how-to/claude-code.md. */
import {
  type ClaudeCodeHookAnswer,
  type ClaudeCodeHookInput,
  type ClaudeCodeHookQuery,
  type Decision,
  errorCodes,
  type IntentSubmission,
  limits,
} from "@countersign/contract";
import {
  claudeCodeAnswer,
  claudeCodeKey,
  claudeCodeSubmission,
  clipText,
  denial,
  Fault,
  isClaimed,
} from "@countersign/core";
import { readSubmittedIntent } from "../../store/rows/idempotency.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { ownedOperation } from "../shared/idempotent.ts";
import { claimIntent } from "./claim-intent.ts";
import { getDecision } from "./read-intents.ts";
import { recordObservation } from "./record-observation.ts";
import { type SubmissionRequest, submitIntent } from "./submit-intent.ts";

export interface HookRequest extends Pick<SubmissionRequest, "agent_token" | "client_ip"> {
  readonly input: ClaudeCodeHookInput;
  readonly query: ClaudeCodeHookQuery;
  /** Throws the fault of an intent that POST /v1/intents would refuse. */
  readonly check: (submission: IntentSubmission) => void;
  readonly gone: AbortSignal;
}

export interface HookAnswer {
  readonly answer: ClaudeCodeHookAnswer;
  /** True: the call is denied because it still waits for people. */
  readonly pending: boolean;
}

/**
 * Submits the call of a tool, waits for people, and claims it; or reports the outcome of a call. A fault of the decision
 * becomes a denial, because Claude Code runs a tool whose hook answers an error. Faults: those of reporting (not_found,
 * forbidden, idempotency_conflict).
 */
export async function answerClaudeCodeHook(
  runtime: Runtime,
  caller: Caller,
  request: HookRequest,
): Promise<HookAnswer> {
  const { input } = request;
  if (input.hook_event_name === "PostToolUse" || input.hook_event_name === "PostToolUseFailure") {
    await report(runtime, caller, input);
    return { answer: {}, pending: false };
  }
  try {
    const decision = await decided(runtime, caller, request);
    return { answer: claudeCodeAnswer(input, request.query, decision), pending: decision.status === "pending" };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { answer: denial(input, faultText(error)), pending: false };
  }
}

async function decided(runtime: Runtime, caller: Caller, request: HookRequest): Promise<Decision> {
  const { input, query, agent_token, client_ip, check, gone } = request;
  const submission = claudeCodeSubmission(input, query);
  check(submission);
  const idempotency_key = claudeCodeKey(input);
  const { intent_id, decision_text, replayed } = await submitIntent(runtime, caller, {
    ...{ submission, mode: query.mode, idempotency_key, agent_token, client_ip, batch_size: 1 },
  });
  let decision = JSON.parse(decision_text) as Decision;
  // A repeated answer is the first one, and people may have decided since.
  if (decision.status === "pending" || replayed)
    decision = await currentDecision(runtime, caller, intent_id, query.wait ?? limits.hook_wait_seconds_default, gone);
  const goes_on = decision.outcome === "approve" || decision.outcome === "approve_modified";
  const nonce = `claude-code ${input.tool_use_id}`;
  if (goes_on && isClaimed(input)) await claimIntent(runtime, caller, intent_id, { nonce });
  return decision;
}

async function currentDecision(
  runtime: Runtime,
  caller: Caller,
  intent_id: string,
  wait_seconds: number,
  gone: AbortSignal,
): Promise<Decision> {
  return JSON.parse(await getDecision(runtime, caller, intent_id, wait_seconds, gone)) as Decision;
}

/** Does nothing for a call that was not submitted, such as one from before the hook was installed. */
async function report(runtime: Runtime, caller: Caller, input: ClaudeCodeHookInput): Promise<void> {
  const idempotency_key = claudeCodeKey(input);
  const key = { org_id: caller.org_id, operation: ownedOperation("submit_intent", caller), idempotency_key };
  const intent_id = await runtime.db.tenant(caller.org_id, (query) => readSubmittedIntent(query, key));
  if (intent_id === null) return;
  const failed = input.hook_event_name === "PostToolUseFailure";
  const detail = clipText((input.error ?? "").replaceAll(/[\0\p{Surrogate}]/gu, "\ufffd"), limits.comment_chars_max);
  const observation = failed ? { status: "failed" as const, detail } : { status: "executed" as const };
  await recordObservation(runtime, caller, intent_id, observation, `${idempotency_key} ${input.hook_event_name}`);
}

function faultText({ code, details }: Fault): string {
  const { meaning, advice } = errorCodes[code];
  const why = details.flatMap(({ message }) => (typeof message === "string" ? [message] : []));
  return ["Not decided by Countersign, so nothing was done.", meaning, advice, ...why, `(${code})`].join(" ");
}
