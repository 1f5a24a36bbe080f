/**
 * What operations work with, as interfaces. The edge assembles it once for each node; tests and the simulation do too. Each
 * operation takes a `Pick` of the members that it uses.
 */
import type { PullFailure } from "@countersign/contract";
import type { Contradiction } from "@countersign/core";
import type {
  Clock,
  Db,
  HttpOut,
  Ids,
  Log,
  Mailer,
  Passwords,
  RateWindows,
  Sealer,
  Timers,
  TxtRecords,
} from "../ports.ts";
import type { OpenId, PasskeyChecks } from "../sign-in-ports.ts";
import type { CommitWriter } from "../store/commit/commit-writer-rows.ts";
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

/** Counts decisions; the metrics of the HTTP layer implement it. */
export interface DecisionMetrics {
  /** Counts a committed decision. `elapsed_us` runs from the operation's start to the commit. */
  decided(verdict: string, mode: string, elapsed_us: number): void;
  /** Counts a decision that was stale at its commit and was made again. */
  decidedAgain(): void;
}

/** Counts what agents report. */
export interface ReportMetrics {
  /** Counts a report that an action was executed which was not let through. */
  contradicted(because: Contradiction): void;
}

/** Counts deliveries. */
export interface DeliveryMetrics {
  /** Counts an attempt that ended. The delivery ended with it unless `status` is `pending`. */
  attempted(status: "delivered" | "failed" | "cancelled" | "pending", duration_ms: number): void;
}

/** Counts mails. */
export interface MailMetrics {
  /** Counts an attempt: the mail was sent or needs no sending (`dealt_with`), is retried later, or is given up. */
  mailed(outcome: "dealt_with" | "put_off" | "given_up"): void;
}

/** Counts questions to context sources. */
export interface PullMetrics {
  /** Counts a decision that needed facts: they were pulled, were kept from an earlier answer, or the pull failed. */
  pulled(outcome: "pulled" | "kept" | PullFailure): void;
}

/** The node's deliveries to webhooks. */
export interface DeliveryLoop {
  /** Wakes them after a commit of an organization: of events, or of manual retries. A lost call costs a second. */
  wake(org_id: string, what?: "events" | "retries"): void;
}

/** Wakes the node's loop over mails. */
export interface MailLoop {
  /** Makes the loop look at once, after a mail was queued. A lost call costs seconds. */
  wake(): void;
}

/** The parts of one node of the service. */
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
  readonly latencies: DecisionLatencies;
  readonly figures: FiguresKeeper;
  readonly metrics: DecisionMetrics & ReportMetrics & DeliveryMetrics & MailMetrics & PullMetrics;
  readonly settings: Settings;
  readonly sealer: Sealer;
  readonly httpOut: HttpOut;
  readonly txtRecords: TxtRecords;
  readonly deliveries: DeliveryLoop;
  readonly passwords: Passwords;
  readonly passkeys: PasskeyChecks;
  readonly openId: OpenId;
  readonly mailer: Mailer;
  readonly mails: MailLoop;
  readonly rateWindows: RateWindows;
  readonly backtests: Backtests;
  /** Throws Fault invalid_request with the name of each pack that this service does not have. */
  refuseUnknownPacks(packs: readonly string[]): void;
  /** Faults: invalid_request naming each rule that no pack has. */
  refuseUnknownRules(rules: readonly string[]): void;
}

/** What an operation needs that stores rows with new ids and the time. */
export type Recording = Pick<Runtime, "db" | "clock" | "ids">;

/** The settings that operations act on. */
interface Settings {
  /** Returns the address at which users reach this service, without a slash at the end. */
  public_url(): string;
}
