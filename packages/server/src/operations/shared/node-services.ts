/** The services of one node that operations share, as interfaces. The folder of each capability implements its own. */
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

/** A membrane and its compiled policies. */
export interface DecidingMembrane {
  readonly membrane: Membrane;
  readonly policySet: PolicySet;
}

/** What deciding needs of one organization, as read under two epochs. */
export interface OrgState {
  readonly policy_epoch: number;
  readonly context_epoch: number;
  /** Event types that active webhooks of the whole organization subscribe to. A change of them raises the policy epoch. */
  readonly heard: ReadonlySet<string>;
  /** False: the organization has no active override, so a block needs no look-up. Each new override raises the policy epoch. */
  readonly overrides: boolean;
  /** False: the organization has no live grant. Each new grant raises the policy epoch. */
  readonly grants: boolean;
  /** What people froze. Each change of it raises the policy epoch. */
  readonly freezes: Freezes;
  /** The registered parents of agents. Each change of them raises the policy epoch. */
  readonly parents: Parents;
  /** The endpoint that returns facts. A change of it raises the context epoch. */
  readonly source: ContextSourceRow | null;
  /** Returns the issuers whose tokens count. Each change of them raises the policy epoch. */
  tokenIssuers(): Promise<readonly TokenIssuer[]>;
  /** Returns the membrane with this id, or the default membrane for undefined. Undefined: there is none. */
  membrane(membrane_id: string | undefined): DecidingMembrane | undefined;
  /** Returns true if policies and membranes are unchanged, even if an epoch was raised. Exact only under the head's lock. */
  isInForce(query: Query): Promise<boolean>;
  /** Returns the documents that were pushed for these subjects, which have different scopes. */
  storedContext(subjects: readonly ContextSubject[]): Promise<readonly ContextFor[]>;
  /** Returns the agents with pushed documents. Null: there are none, or too many to list. */
  agentsWithFacts(): AgentNames | null;
}

/** The states that this node caches. */
export interface OrgStates {
  /** Returns the cached state, else reads it. Rejects if the organization does not exist. */
  get(org_id: string): Promise<OrgState>;
  /** Drops a state that a commit found stale, unless a newer state has replaced it. */
  forget(org_id: string, state: OrgState): void;
  /** Returns true and drops the state if policies or membranes changed after it was read. */
  isOutdated(org_id: string, state: OrgState): Promise<boolean>;
}

/** Reads decisions for many requests with few statements. */
export interface DecisionReads {
  /** Returns the decision on one intent, or undefined. It includes all that was committed before the call. Faults: unavailable. */
  read(org_id: string, intent_id: string): Promise<StoredDecision | undefined>;
}

/** Waits for final decisions, for all requests of this node together. */
export interface DecisionWaits {
  /**
   * Resolves when the intent is no longer pending, after `wait_ms`, when the client is `gone`, or when the service stops.
   * Never rejects.
   */
  untilFinal(org_id: string, intent_id: string, wait_ms: number, gone?: AbortSignal): Promise<void>;
  /** Ends all waits at once. Later waits return immediately. */
  stop(): void;
}

/** Notes which reviews requests wait for, for all nodes to see. */
export interface ReviewWaits {
  /**
   * Notes that a request waits for a review, for so many seconds. The caller calls the returned function when the request ends;
   * `is_gone`: its client closed the connection, so it will not ask again.
   */
  begin(org_id: string, escalation_id: string, seconds: number): (is_gone: boolean) => void;
}

/** How long the decisions of each organization took on this node. */
export interface DecisionLatencies {
  /** Counts a decision that was committed at `at_us`. `elapsed_us` runs from the operation's start to the commit. */
  decided(org_id: string, at_us: number, elapsed_us: number): void;
  /** Returns the figures of one organization. Null: this node counted no decision of it. */
  of(org_id: string): Overview["latency"];
}

/** Keeps the figures of all organizations. */
export interface FiguresKeeper {
  /** Says that this organization made a decision. Only a hint: without it the decision is counted some minutes later. */
  decided(org_id: string): void;
  /** Returns how many entries of the audit trail are not counted yet, as far as this node knows. */
  behind(): number;
  /** Makes one pass over the organizations that have work. `stopped` is asked between pages. */
  pass(stopped: () => boolean): Promise<void>;
}

/** How far this node's clock is from the database's. */
export interface ClockWatch {
  /** Seconds by which the node's clock is ahead of the database's; negative: behind. At least so far, at the last look. */
  offset_s(): number;
  /** True: five minutes or more. The node is not ready then and decides nothing. */
  isFarOff(): boolean;
}

/** Pauses in the pushing of facts. */
export interface ContextPauses {
  /** Makes pushes of this organization wait until the caller calls the returned function. */
  begin(org_id: string): () => void;
  /** Resolves when no decision of the organization needs a pause any more, and after at most 1 s. */
  over(org_id: string): Promise<void>;
}

/** Facts from a context source, or the reason why there are none. */
export type Pulled =
  | { readonly document: ContextDocument; readonly received_us: number; readonly inexact: InexactFacts }
  | { readonly failed: PullFailure };

/** Asks context sources for facts. */
export interface ContextPulls {
  /**
   * Asks the source about this intent. Null: the organization removed or replaced this registration, so nothing was sent.
   * Ends after at most 1 s. Rejects only if the database fails.
   */
  pull(
    org_id: string,
    source: ContextSourceRow,
    intent: object,
    ages: PreparedMembrane["limits"],
  ): Promise<Pulled | null>;
  /**
   * Returns the limit on concurrent batch items of this organization. Each organization has its own, because an item keeps
   * its place while its source is slow.
   */
  places(org_id: string): LimitFunction;
}

/** What a checked token proves. */
export interface ProvedToken {
  /** `iss` of the token, or `spiffe://` and the trust domain. */
  readonly issuer: string;
  readonly agent_id: string;
  /** Who acts for whom: first the subject, last who acts now. */
  readonly chain: readonly string[];
  /** Further facts of `identity` that its claims give. A claim that the token lacks gives none. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Of issuer and `jti`: 64 lower-case hex digits. Null: the token has no `jti`. */
  readonly id_sha256: string | null;
  /** When the token passes no more, leeway included. Microseconds. */
  readonly expires_us: number;
}

/** What a token proves, or why it proves nothing. */
export type CheckedToken = { readonly proved: ProvedToken } | { readonly problem: TokenProblem };

/** Checks tokens of agents. */
export interface AgentTokens {
  /** Checks a token by these issuers of an organization. Takes at most 4 s more if keys must be fetched. Rejects only on a defect. */
  check(org_id: string, issuers: readonly TokenIssuer[], token: string): Promise<CheckedToken>;
}

/** Enforces the caps of the review queues. */
export interface ReviewQueues {
  /** Runs `commit` if the rows open no review or the queue has room. Faults: review_queue_full, overloaded. */
  enter<T>(rows: DecisionRows, commit: (rows: DecisionRows) => Promise<T>): Promise<T>;
}

/** One backtest. Plain data, because it is sent to a thread. */
export interface BacktestJob {
  readonly org_id: string;
  readonly filter: RecordedFilter;
  /** Null: reproduces the recorded decisions. */
  readonly candidate: Candidate | null;
  /** Whether the caller gets the values of stored and pulled facts. Otherwise they are unknown. */
  readonly values: boolean;
  /** How many of the newest intents are replayed. */
  readonly limit: number;
  /** The time of the request. The part of the window after it does not count as days. */
  readonly asked_us: number;
}

/** How a backtest is cancelled and observed. */
interface BacktestHooks {
  readonly signal: AbortSignal;
  readonly onProgress: (state: BacktestProgress["state"], evaluated: number, done: number) => void;
}

/** Runs backtests outside of the thread that answers requests. */
export interface Backtests {
  /**
   * Runs a job after those that were asked for earlier. Rejects if `signal` is aborted. Faults: overloaded (too many wait),
   * unavailable (the node stops, the database is lost), internal_error (the thread died).
   */
  run(job: BacktestJob, hooks: BacktestHooks): Promise<BacktestFigures>;
}
