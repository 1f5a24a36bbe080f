/** Interfaces that operations use. The edge creates one runtime per node. Each operation takes a `Pick` of it. */
import type { PullFailure } from "@countersign/contract";
import type { Contradiction, PolicyDocument, VerifierKey } from "@countersign/core";
import type {
  Clock,
  Db,
  HttpOut,
  Ids,
  Log,
  Mailer,
  Passwords,
  PushRequests,
  RateWindows,
  Sealer,
  StreamFiles,
  Timers,
  TxtRecords,
} from "../ports.ts";
import type { OpenId, PasskeyChecks } from "../sign-in-ports.ts";
import type { CommitWriter } from "../store/commit/commit-writer-rows.ts";
import type { NodeCounters } from "./counters/node-counters.ts";
import type { Callers } from "./shared/caller.ts";
import type {
  AgentTokens,
  Backtests,
  ClockWatch,
  ContextPauses,
  ContextPulls,
  DecisionLatencies,
  DecisionReads,
  DecisionWaits,
  FiguresKeeper,
  OrgStates,
  ReviewQueues,
  ReviewWaits,
} from "./shared/node-services.ts";

export interface DecisionMetrics {
  decided(verdict: string, mode: string, elapsed_us: number): void;
  decidedAgain(): void;
  /** A live action is held because its counters have no room. */
  countersFull(): void;
}

export interface ReportMetrics {
  contradicted(because: Contradiction): void;
}

export interface DeliveryMetrics {
  attempted(status: "delivered" | "failed" | "cancelled" | "pending", duration_ms: number): void;
}

export interface MailMetrics {
  /** Counts an attempt: sent or no longer needed (`dealt_with`), to be retried, or dropped. */
  mailed(outcome: "dealt_with" | "put_off" | "given_up"): void;
}

export interface PullMetrics {
  pulled(outcome: "pulled" | "kept" | PullFailure): void;
}

export interface DeliveryLoop {
  /** Wakes the deliveries after a commit of events or manual retries. A lost call costs a second. */
  wake(org_id: string, what?: "events" | "retries"): void;
}

export interface MailLoop {
  /** Wakes the loop after a mail was queued. A lost call costs seconds. */
  wake(): void;
}

export interface Runtime {
  readonly db: Db;
  readonly clock: Clock;
  readonly clockWatch: ClockWatch;
  readonly ids: Ids;
  readonly timers: Timers;
  readonly log: Log;
  readonly writer: CommitWriter;
  readonly orgStates: OrgStates;
  readonly callers: Callers;
  readonly decisionReads: DecisionReads;
  readonly waits: DecisionWaits;
  readonly reviewWaits: ReviewWaits;
  readonly contextPauses: ContextPauses;
  readonly pulls: ContextPulls;
  readonly agentTokens: AgentTokens;
  readonly reviewQueues: ReviewQueues;
  readonly counters: NodeCounters;
  readonly latencies: DecisionLatencies;
  readonly figures: FiguresKeeper;
  readonly metrics: DecisionMetrics & ReportMetrics & DeliveryMetrics & MailMetrics & PullMetrics;
  readonly settings: Settings;
  readonly sealer: Sealer;
  readonly httpOut: HttpOut;
  readonly pushRequests: PushRequests;
  /** Null: the operator set no directory. */
  readonly streamFiles: StreamFiles | null;
  readonly txtRecords: TxtRecords;
  readonly deliveries: DeliveryLoop;
  readonly passwords: Passwords;
  readonly passkeys: PasskeyChecks;
  readonly openId: OpenId;
  readonly mailer: Mailer;
  readonly mails: MailLoop;
  readonly rateWindows: RateWindows;
  readonly backtests: Backtests;
  /** Faults: invalid_request naming each unknown pack. */
  refuseUnknownPacks(packs: readonly string[]): void;
  /** Faults: invalid_request naming each rule that no pack has. */
  refuseUnknownRules(rules: readonly string[]): void;
  /** Returns the rules of packs that are not switched off. */
  packRules(packs: readonly string[], rules_off: readonly string[]): readonly PolicyDocument[];
}

export type Recording = Pick<Runtime, "db" | "clock" | "ids">;

interface Settings {
  /** Returns the public address of this service, without a trailing slash. */
  public_url(): string;
  /** Whether an AuthZEN evaluation is recorded. */
  readonly authzen: "record" | "decide_only";
  /** Keys of the witnesses that cosign checkpoints. */
  readonly log_witnesses: readonly VerifierKey[];
}
