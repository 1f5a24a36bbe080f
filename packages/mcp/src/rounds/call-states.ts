/**
 * The state of a call that takes several rounds. The client gets it sealed as `requestState`, and brings it back with
 * the next round. A state belongs to one call: agent, tool, server and arguments.
 */
import { createHash } from "node:crypto";
import type { IntentSubmission } from "@countersign/contract";
import { sortedJson } from "../protocol/sorted-json.ts";
import { Seal } from "./seal.ts";

/** The call waits for people: for its own review, or until they accept the changed definition of its tool. */
export interface WaitState {
  readonly kind: "wait";
  /** The call's own intent; null: it waits for the definition, and is not submitted yet. */
  readonly review: string | null;
  /** The intent that people must decide on. */
  readonly intent_id: string;
  /** The review whose page the client was last asked to open. */
  readonly shown: string | null;
  /** Answers so far that asked the client to come back. */
  readonly rounds: number;
}

/** The server asked for more before it completes the call. */
export interface RoundState {
  readonly kind: "round";
  readonly intent_id: string;
  /** The current nonce of the claim. The service replaces it with each round, so that no round is made twice. */
  readonly nonce: string;
  /** The server's own `requestState`; null: it sent none. */
  readonly server_state: string | null;
}

export type CallState = WaitState | RoundState;

/** A refused state, with the reason. */
export class StateRefused extends Error {}

interface Sealed {
  readonly state: CallState;
  readonly call_sha256: string;
  readonly expires_at_ms: number;
}

const valid_ms = 24 * 3_600_000;

export class CallStates {
  readonly #seal: Seal;
  readonly #now_ms: () => number;

  constructor(secret: string, now_ms: () => number) {
    this.#seal = new Seal(secret);
    this.#now_ms = now_ms;
  }

  close(state: CallState, submission: IntentSubmission): string {
    const expires_at_ms = this.#now_ms() + valid_ms;
    return this.#seal.close(JSON.stringify({ state, call_sha256: hashOf(submission), expires_at_ms } satisfies Sealed));
  }

  /** Throws `StateRefused`. */
  open(sealed: string, submission: IntentSubmission): CallState {
    const text = this.#seal.open(sealed);
    if (text === null)
      throw new StateRefused("its requestState does not come from this proxy, was changed, or the API key is another");
    const { state, call_sha256, expires_at_ms } = JSON.parse(text) as Sealed;
    if (call_sha256 !== hashOf(submission))
      throw new StateRefused("its requestState belongs to another call: agent, server, tool or arguments differ");
    if (expires_at_ms <= this.#now_ms()) throw new StateRefused("its requestState has expired");
    return state;
  }
}

function hashOf({ intent: { agent, action, payload } }: IntentSubmission): string {
  const call = sortedJson([agent.id, agent.parent ?? null, action, payload?.content ?? {}]);
  return createHash("sha256").update(call).digest("hex");
}
