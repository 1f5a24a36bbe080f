import type {
  BacktestProgress,
  ContextDocument,
  Membrane,
  Overview,
  PullFailure,
  TokenIssuer,
  TokenProblem,
} from "@countersign/contract";
import type {
  AgentNames,
  BacktestFigures,
  Candidate,
  Freezes,
  InexactFacts,
  Parents,
  PolicySet,
  PreparedMembrane,
} from "@countersign/core";
import type { LimitFunction } from "p-limit";
import type { Query } from "../../ports.ts";
import type { RecordedFilter } from "../../store/backtests/backtests.ts";
import type { DecisionRows } from "../../store/commit/commit-writer-rows.ts";
import type { ContextSourceRow } from "../../store/context/context-source.ts";
import type { ContextFor, ContextSubject } from "../../store/context/stored-context.ts";
import type { StoredDecision } from "../../store/intents/intents.ts";

export interface DecidingMembrane {
  readonly membrane: Membrane;
  readonly policySet: PolicySet;
  /** Folded ids of registered agents that a rollout does not enforce yet. Each change raises the policy epoch. */
  readonly unenforced: ReadonlySet<string>;
  /** Like `unenforced`, with the agents for which the guard of a rollout returned holds to shadow. */
  readonly unheld: ReadonlySet<string>;
}

export interface OrgState {
  readonly policy_epoch: number;
  readonly context_epoch: number;
  /** Event types to which active webhooks of the whole organization subscribe. A change raises the policy epoch. */
  readonly heard: ReadonlySet<string>;
  /** False: no active override, so a block needs no look-up. Each new override raises the policy epoch. */
  readonly overrides: boolean;
  /** False: no live grant. Each new grant raises the policy epoch. */
  readonly grants: boolean;
  readonly freezes: Freezes;
  /** The registered parents of agents. Each change raises the policy epoch. */
  readonly parents: Parents;
  /** The endpoint that returns facts. A change raises the context epoch. */
  readonly source: ContextSourceRow | null;
  /** Returns the trusted token issuers. Each change raises the policy epoch. */
  tokenIssuers(): Promise<readonly TokenIssuer[]>;
  /** Returns the membrane with this id; for undefined, the default membrane. Undefined: there is none. */
  membrane(membrane_id: string | undefined): DecidingMembrane | undefined;
  readonly membranes: readonly DecidingMembrane[];
  /**
   * Returns true if policies and membranes are unchanged, even if an epoch was raised. Exact only under the head's
   * lock.
   */
  isInForce(query: Query): Promise<boolean>;
  storedContext(subjects: readonly ContextSubject[]): Promise<readonly ContextFor[]>;
  /** Returns the agents with pushed documents. Null: none, or too many to list. */
  agentsWithFacts(): AgentNames | null;
}

export interface OrgStates {
  /** Returns the cached state, else reads it. Rejects if the organization does not exist. */
  get(org_id: string): Promise<OrgState>;
  /** Drops a stale state, unless a newer one has replaced it. */
  forget(org_id: string, state: OrgState): void;
  /** Returns true, and drops the state, if policies or membranes changed since it was read. */
  isOutdated(org_id: string, state: OrgState): Promise<boolean>;
}

export interface DecisionReads {
  /**
   * Returns the decision on one intent, or undefined. Includes everything committed before the call. Faults:
   * unavailable.
   */
  read(org_id: string, intent_id: string): Promise<StoredDecision | undefined>;
}

export interface DecisionWaits {
  /**
   * Resolves when the intent is final, after `wait_ms`, when the client is `gone`, or when the service stops. Never
   * rejects.
   */
  untilFinal(org_id: string, intent_id: string, wait_ms: number, gone?: AbortSignal): Promise<void>;
  /** Ends all waits. Later waits return immediately. */
  stop(): void;
}

export interface ReviewWaits {
  /**
   * Notes that a request waits up to `seconds`. Call the returned function when it ends; `is_gone`: the client
   * disconnected, so it will not ask again.
   */
  begin(org_id: string, escalation_id: string, seconds: number): (is_gone: boolean) => void;
}

export interface DecisionLatencies {
  /** Counts a decision that was committed at `at_us`. `elapsed_us`: from the operation's start to the commit. */
  decided(org_id: string, at_us: number, elapsed_us: number): void;
  of(org_id: string): Overview["latency"];
}

export interface FiguresKeeper {
  /** Hints that this organization made a decision. Without the hint it is counted some minutes later. */
  decided(org_id: string): void;
  behind(): number;
  pass(stopped: () => boolean): Promise<void>;
}

export interface LogKeeper {
  /** Audit records that no checkpoint covers yet. */
  behind(): number;
  /** Organizations with a log that cannot be continued. */
  failing(): number;
  pass(stopped: () => boolean): Promise<void>;
}

export interface ClockWatch {
  /**
   * Seconds by which the node's clock is ahead of the database's; negative: behind. A lower bound from the last check.
   */
  offset_s(): number;
  /** True: five minutes or more. The node then reports not ready and decides nothing. */
  isFarOff(): boolean;
}

export interface ContextPauses {
  begin(org_id: string): () => void;
  /** Resolves when no decision of the organization needs a pause, after at most 1 s. */
  over(org_id: string): Promise<void>;
}

export type Pulled =
  | { readonly document: ContextDocument; readonly received_us: number; readonly inexact: InexactFacts }
  | { readonly failed: PullFailure };

export interface ContextPulls {
  /**
   * Asks the source about this intent, for at most 1 s. Null: the registration was removed or replaced, so nothing was
   * sent. Rejects only if the database fails.
   */
  pull(
    org_id: string,
    source: ContextSourceRow,
    intent: object,
    ages: PreparedMembrane["limits"],
  ): Promise<Pulled | null>;
  /**
   * Returns the organization's limit on concurrent batch items. Separate, because an item keeps its place while its
   * source is slow.
   */
  places(org_id: string): LimitFunction;
}

export interface ProvedToken {
  /** `iss` of the token, or `spiffe://` and the trust domain. */
  readonly issuer: string;
  readonly agent_id: string;
  readonly chain: readonly string[];
  /** Further facts of `identity` from claims. A missing claim gives no fact. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Hash of issuer and `jti`: 64 lower-case hex digits. Null: no `jti`. */
  readonly id_sha256: string | null;
  readonly expires_us: number;
}

export type CheckedToken = { readonly proved: ProvedToken } | { readonly problem: TokenProblem };

export interface AgentTokens {
  /** Checks a token against these issuers. Takes up to 4 s longer if keys must be fetched. Rejects only on a defect. */
  check(org_id: string, issuers: readonly TokenIssuer[], token: string): Promise<CheckedToken>;
}

export interface ReviewQueues {
  /** Runs `commit` if the rows open no review or the queue has room. Faults: review_queue_full, overloaded. */
  enter<T>(rows: DecisionRows, commit: (rows: DecisionRows) => Promise<T>): Promise<T>;
}

export interface BacktestJob {
  readonly org_id: string;
  readonly filter: RecordedFilter;
  /** Null: reproduces the recorded decisions. */
  readonly candidate: Candidate | null;
  /** True: the caller gets the values of stored and pulled facts. False: they are unknown. */
  readonly values: boolean;
  readonly limit: number;
  /** Time of the request. Days after it do not count. */
  readonly asked_us: number;
}

interface BacktestHooks {
  readonly signal: AbortSignal;
  readonly onProgress: (state: BacktestProgress["state"], evaluated: number, done: number) => void;
}

export interface Backtests {
  /**
   * Runs a job after earlier ones. Rejects if `signal` is aborted. Faults: overloaded (too many wait), unavailable (the
   * node stops, the database is lost), internal_error (the thread died).
   */
  run(job: BacktestJob, hooks: BacktestHooks): Promise<BacktestFigures>;
}
