/**
 * Counting is one map access, because prom-client's `inc` with labels costs 1 µs. The series are filled at each scrape.
 */

import { errorCodes, pullFailures } from "@countersign/contract";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type {
  DecisionMetrics,
  DeliveryMetrics,
  MailMetrics,
  PullMetrics,
  ReportMetrics,
} from "../operations/runtime.ts";
import { expiring_counted_max } from "../store/keys/key-expiry.ts";
import type { StreamFigures } from "../store/streams/stream-turns.ts";
import { type Backlog, backlog_counted_max } from "../store/upkeep/backlog.ts";

export interface Metrics extends DecisionMetrics, ReportMetrics, DeliveryMetrics, MailMetrics, PullMetrics {
  /** `route`: the operation_id, or `none`. */
  requested(route: string, status: number, elapsed_us: number): void;
  refused(code: string): void;
  statement(rows: number, statement_ms: number, queue_rows: number): void;
  /** For their age. */
  deleted(what: string, rows: number): void;
  /** True: Redis does not answer, so this node counts alone. */
  rateLimitsDegraded(degraded: boolean): void;
  /** A request was counted on this node alone. */
  rateTakenAlone(): void;
  /** Row sets that wait for the commit writer. Functions given to `watch…` run at each scrape. */
  watchQueue(depth: () => number): void;
  /** Database sessions, and callers that wait for one. */
  watchSessions(stats: () => { readonly total: number; readonly idle: number; readonly waiting: number }): void;
  /** Reads that may go to replicas, by the server that did them. */
  watchReads(
    reads: () => { readonly replica: number; readonly primary: number; readonly replicas_in_use: number },
  ): void;
  /** Seconds by which the node's clock is ahead of the database's. */
  watchClock(offset_s: () => number): void;
  /** Of all organizations. Null: not known, no series. */
  watchBacklog(count: () => Promise<Backlog | null>): void;
  /** By days until they expire. Null: not known, no series. */
  watchExpiringKeys(count: () => Promise<Readonly<Record<string, number>> | null>): void;
  /** Entries that are not in the figures yet. */
  watchFigures(behind: () => number): void;
  watchLog(log: { behind(): number; failing(): number }): void;
  /** Of all organizations. Null: not known, no series. */
  watchStreams(read: () => Promise<StreamFigures | null>): void;
  text(): Promise<string>;
  /** To be added to the values of other processes. */
  values(): Promise<readonly object[]>;
  readonly content_type: string;
}

const seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** A registry for each node, because several can run in one process. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return {
    ...requestMetrics(registry),
    ...decisionMetrics(registry),
    ...outgoingMetrics(registry),
    ...storeMetrics(registry),
    ...rateMetrics(registry),
    ...watchedMetrics(registry),
    watchLog: (log) => watchLog([registry], log),
    watchStreams: (read) => watchStreams([registry], read),
    ...replicaMetrics(registry),
    text: () => registry.metrics(),
    values: () => registry.getMetricsAsJSON(),
    content_type: registry.contentType,
  };
}

function requestMetrics(registry: Registry): Pick<Metrics, "requested" | "refused"> {
  const requests = counter(registry, {
    name: "countersign_http_requests_total",
    help: "Requests answered.",
    labels: ["operation", "status"],
  });
  const refusals = counter(registry, {
    name: "countersign_refusals_total",
    help: "Requests refused, by error code.",
    labels: ["code"],
    known: Object.keys(errorCodes),
  });
  const latency = histogram(registry, "countersign_http_request_seconds", "From the start of a request to its answer.");
  return {
    requested(route, status, elapsed_us) {
      requests(`${route} ${status}`);
      latency.observe(elapsed_us / 1_000_000);
    },
    refused: (code) => refusals(code),
  };
}

function decisionMetrics(registry: Registry): DecisionMetrics & ReportMetrics {
  const verdicts = counter(registry, {
    name: "countersign_decisions_total",
    help: "Decisions committed.",
    labels: ["verdict", "mode"],
    known: ["approve", "approve_modified", "escalate", "block"].flatMap((verdict) =>
      ["live", "shadow", "test"].map((mode) => `${verdict} ${mode}`),
    ),
  });
  const decided_again = counter(registry, {
    name: "countersign_decisions_again_total",
    help: "Decisions made again because their assumptions had changed.",
  });
  const counters_full = counter(registry, {
    name: "countersign_counters_full_total",
    help: "Live actions held because their counters have no room.",
  });
  const contradictions = counter(registry, {
    name: "countersign_contradictions_total",
    help: "Reports that an action was executed without approval.",
    labels: ["because"],
    known: ["blocked", "pending", "withdrawn", "not_claimed"],
  });
  const latency = histogram(registry, "countersign_decision_seconds", "From the start of a submission to its commit.");
  return {
    decided(verdict, mode, elapsed_us) {
      verdicts(`${verdict} ${mode}`);
      latency.observe(elapsed_us / 1_000_000);
    },
    decidedAgain: () => decided_again(""),
    countersFull: () => counters_full(""),
    contradicted: (because) => contradictions(because),
  };
}

function outgoingMetrics(registry: Registry): DeliveryMetrics & MailMetrics & PullMetrics {
  const attempts = counter(registry, {
    name: "countersign_delivery_attempts_total",
    help: "Attempts to deliver, by the outcome of the delivery.",
    labels: ["status"],
    known: ["delivered", "failed", "cancelled", "pending"],
  });
  const attempt = histogram(
    registry,
    "countersign_delivery_attempt_seconds",
    "From the lookup to the head of the answer.",
  );
  const mails = counter(registry, {
    name: "countersign_mail_attempts_total",
    help: "Attempts to send a mail, by outcome.",
    labels: ["outcome"],
    known: ["dealt_with", "put_off", "given_up"],
  });
  const pulls = counter(registry, {
    name: "countersign_context_pulls_total",
    help: "Requests to context sources, by outcome.",
    labels: ["outcome"],
    known: ["pulled", "kept", ...Object.keys(pullFailures)],
  });
  return {
    attempted(status, duration_ms) {
      attempts(status);
      attempt.observe(duration_ms / 1000);
    },
    mailed: (outcome) => mails(outcome),
    pulled: (outcome) => pulls(outcome),
  };
}

function storeMetrics(registry: Registry): Pick<Metrics, "statement" | "deleted"> {
  const deletions = counter(registry, {
    name: "countersign_rows_deleted_total",
    help: "Rows deleted for their age, by kind.",
    labels: ["what"],
  });
  const statement = histogram(registry, "countersign_commit_statement_seconds", "Statements of the commit writer.");
  const rows = histogram(
    registry,
    "countersign_commit_batch_rows",
    "Row sets in one statement.",
    [1, 2, 4, 8, 16, 32, 64, 128, 256],
  );
  return {
    statement(batch_rows, statement_ms) {
      rows.observe(batch_rows);
      statement.observe(statement_ms / 1000);
    },
    deleted: deletions,
  };
}

function rateMetrics(registry: Registry): Pick<Metrics, "rateLimitsDegraded" | "rateTakenAlone"> {
  const alone = counter(registry, {
    name: "countersign_rate_takes_alone_total",
    help: "Requests counted by this node alone because Redis did not answer in time.",
  });
  const degraded = new Gauge({
    name: "countersign_rate_limits_degraded",
    aggregator: "max",
    help: "1 while Redis does not answer and rate limits are counted per node.",
    registers: [registry],
  });
  return {
    rateLimitsDegraded: (now) => degraded.set(now ? 1 : 0),
    rateTakenAlone: () => alone(""),
  };
}

function watchedMetrics(
  registry: Registry,
): Pick<
  Metrics,
  "watchQueue" | "watchSessions" | "watchClock" | "watchBacklog" | "watchExpiringKeys" | "watchFigures"
> {
  const registers = [registry];
  return {
    watchQueue(depth) {
      new Gauge({
        name: "countersign_commit_queue_rows",
        help: "Row sets that wait for the commit writer or are in flight.",
        registers,
        collect() {
          this.set(depth());
        },
      });
    },
    watchSessions(stats) {
      new Gauge({
        name: "countersign_database_sessions",
        help: "Sessions with the database, without those of the commit writer and of deliveries; waiting: callers that wait for one.",
        labelNames: ["state"],
        registers,
        collect() {
          const { total, idle, waiting } = stats();
          for (const [state, number] of Object.entries({ busy: total - idle, idle, waiting }))
            this.set({ state }, number);
        },
      });
    },
    watchClock(offset_s) {
      new Gauge({
        name: "countersign_clock_offset_seconds",
        aggregator: "max",
        help: "Seconds by which the node's clock is ahead of the database's; negative: behind. From 300 on the node makes no decisions.",
        registers,
        collect() {
          this.set(offset_s());
        },
      });
    },
    watchFigures(behind) {
      new Gauge({
        name: "countersign_figures_behind_entries",
        aggregator: "max",
        help: "Entries of the audit trail that are not counted for the overview yet, as far as this process knows.",
        registers,
        collect() {
          this.set(behind());
        },
      });
    },
    watchExpiringKeys: (count) => watchExpiringKeys(registers, count),
    watchBacklog(count) {
      new Gauge({
        name: "countersign_backlog_rows",
        // Each process counts the rows of all.
        aggregator: "max",
        help: `Events, deliveries and mails that wait in all organizations; counted up to ${backlog_counted_max}.`,
        labelNames: ["what"],
        registers,
        async collect() {
          this.reset();
          for (const [what, rows] of Object.entries((await count()) ?? {})) this.set({ what }, rows);
        },
      });
    },
  };
}

function watchExpiringKeys(registers: Registry[], count: Parameters<Metrics["watchExpiringKeys"]>[0]): void {
  new Gauge({
    name: "countersign_keys_expiring",
    // Each process counts the keys of all.
    aggregator: "max",
    help: `API keys of all organizations that expire within this many days; counted up to ${expiring_counted_max}.`,
    labelNames: ["within_days"],
    registers,
    async collect() {
      this.reset();
      for (const [within_days, keys] of Object.entries((await count()) ?? {})) this.set({ within_days }, keys);
    },
  });
}

function watchLog(registers: Registry[], log: Parameters<Metrics["watchLog"]>[0]): void {
  // Each process counts those of all.
  new Gauge({
    name: "countersign_log_behind_records",
    aggregator: "max",
    help: "Records of the audit trail that no signed checkpoint covers yet.",
    registers,
    collect() {
      this.set(log.behind());
    },
  });
  new Gauge({
    name: "countersign_log_failing_organizations",
    aggregator: "max",
    help: "Organizations for which no checkpoint is signed, because entries under an earlier one are missing or changed, or because of a fault.",
    registers,
    collect() {
      this.set(log.failing());
    },
  });
}

function watchStreams(registers: Registry[], read: Parameters<Metrics["watchStreams"]>[0]): void {
  const gauge = (name: string, help: string, of: (figures: StreamFigures) => number) =>
    new Gauge({
      name,
      // Each process reads the streams of all.
      aggregator: "max",
      help,
      registers,
      async collect() {
        this.reset();
        const figures = await read();
        if (figures === null) this.remove();
        else this.set(of(figures));
      },
    });
  gauge("countersign_streams_failing", "Streams whose last object the store did not take.", ({ failing }) => failing);
  gauge(
    "countersign_streams_lag_seconds",
    "Age of the oldest entry of the ledger that a stream has not written; 0: none.",
    ({ lag_seconds }) => lag_seconds,
  );
}

function replicaMetrics(registry: Registry): Pick<Metrics, "watchReads"> {
  const registers = [registry];
  return {
    watchReads(reads) {
      new Counter({
        name: "countersign_replica_reads_total",
        help: "Reads that may go to a replica, by the server that did them; without those of backtests.",
        labelNames: ["server"],
        registers,
        collect() {
          this.reset();
          const { replica, primary } = reads();
          for (const [server, number] of Object.entries({ replica, primary })) this.inc({ server }, number);
        },
      });
      new Gauge({
        name: "countersign_replicas_in_use",
        // Each process has its own sessions with the same replicas.
        aggregator: "min",
        help: "Replicas that serve reads. A replica is out of use before its first read, and while it fails.",
        registers,
        collect() {
          this.set(reads().replicas_in_use);
        },
      });
    },
  };
}

interface CounterTerms {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /**
   * Label values that start at 0. Prometheus sees no increase in a series that appears with its first count, so an
   * alarm would not fire.
   */
  readonly known?: readonly string[];
}

/** The returned function takes label values, separated by a space. */
function counter(registry: Registry, { name, help, labels = [], known = [] }: CounterTerms) {
  const counts = new Map<string, number>(known.map((values) => [values, 0]));
  new Counter({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    collect() {
      this.reset();
      for (const [key, count] of counts) {
        const values = key.split(" ");
        this.inc(Object.fromEntries(labels.map((label, at) => [label, values[at] as string])), count);
      }
    },
  });
  return (values: string, by = 1): void => void counts.set(values, (counts.get(values) ?? 0) + by);
}

function histogram(registry: Registry, name: string, help: string, buckets = seconds): Histogram {
  return new Histogram({ name, help, buckets, registers: [registry] });
}
