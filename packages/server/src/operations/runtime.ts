/** Everything the operations work with, assembled once by the edge (and by tests and the simulation). */

import type { Clock, Db, HttpOut, Ids, Log, Mailer, Passwords, Timers } from "../ports.ts";
import type { OpenId, PasskeyChecks } from "../sign-in-ports.ts";
import type { CommitWriter } from "../store/commit/commit-writer.ts";
import type { RateWindows } from "../store/rate-windows/rate-windows.ts";
import type { Backtests } from "./backtests/backtest.ts";
import type { ContextPauses } from "./context/context-pauses.ts";
import type { ContextPulls, PullMetrics } from "./context/context-pulls.ts";
import type { ReviewQueues } from "./escalations/review-queue.ts";
import type { DecisionLatencies } from "./intents/decision-latencies.ts";
import type { DecisionReads } from "./intents/decision-reads.ts";
import type { DecisionWaits } from "./intents/decision-waits.ts";
import type { Callers } from "./shared/caller.ts";
import type { OrgStates } from "./shared/org-state.ts";
import type { Sealer } from "./shared/sealer.ts";

/** What is counted about decisions; the metrics of the HTTP layer implement it. */
export interface DecisionMetrics {
  /** One decision was committed. `elapsed_us` runs from the operation's start to the commit. */
  decided(verdict: string, mode: string, elapsed_us: number): void;
  /** A commit found the decision's assumptions outdated and it was decided again. */
  decidedAgain(): void;
}

/** What is counted about deliveries. */
export interface DeliveryMetrics {
  /** One attempt ended, and the delivery with it unless `status` is `pending`. */
  attempted(status: "delivered" | "failed" | "cancelled" | "pending", duration_ms: number): void;
}

/** What is counted about mails. */
export interface MailMetrics {
  /** One attempt ended: with the mail at another server (or with nobody who is to get it), to be made again, or for good. */
  mailed(outcome: "dealt_with" | "put_off" | "given_up"): void;
}

/** The node's deliveries to webhooks. */
export interface DeliveryLoop {
  /** Wakes them after a commit: of events, or of manual retries. A lost call costs a second. */
  poke(what?: "events" | "retries"): void;
}

/** The node's loop over mails. */
export interface MailLoop {
  /** Looks at once: a mail was put on its way. A lost poke costs seconds. */
  poke(): void;
}

/** One node of the service. */
export interface Runtime {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly timers: Timers;
  readonly log: Log;
  readonly writer: CommitWriter;
  readonly orgStates: OrgStates;
  readonly callers: Callers;
  readonly decisionReads: DecisionReads;
  readonly waits: DecisionWaits;
  readonly contextPauses: ContextPauses;
  readonly pulls: ContextPulls;
  readonly reviewQueues: ReviewQueues;
  readonly latencies: DecisionLatencies;
  readonly metrics: DecisionMetrics & DeliveryMetrics & MailMetrics & PullMetrics;
  readonly settings: Settings;
  readonly sealer: Sealer;
  readonly httpOut: HttpOut;
  readonly deliveries: DeliveryLoop;
  readonly passwords: Passwords;
  readonly passkeys: PasskeyChecks;
  readonly openId: OpenId;
  readonly mailer: Mailer;
  readonly mails: MailLoop;
  readonly rateWindows: RateWindows;
  readonly backtests: Backtests;
  /** Faults: invalid_request naming each pack that this service does not have. */
  refuseUnknownPacks(packs: readonly string[]): void;
}

/** The settings that operations act on. */
interface Settings {
  /** Base address of this service as its users reach it, without a slash at the end. */
  public_url(): string;
}
