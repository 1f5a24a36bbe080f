/**
 * What GET /metrics shows. Counting is a map access on the hot path; the series of prom-client are filled in when
 * somebody looks (its own `inc` with labels costs a microsecond each).
 */

import { errorCodes, pullFailures } from "@countersign/contract";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { DecisionMetrics, DeliveryMetrics, MailMetrics, PullMetrics } from "../operations/runtime.ts";
import { type Backlog, backlog_counted_max } from "../store/upkeep/backlog.ts";

/** The counts of one node. */
export interface Metrics extends DecisionMetrics, DeliveryMetrics, MailMetrics, PullMetrics {
  /** One request was answered. `route` is the operation_id, or `none`. */
  requested(route: string, status: number, elapsed_us: number): void;
  /** One request was refused with this error code. */
  refused(code: string): void;
  /** One statement of the commit writer ended. */
  statement(rows: number, statement_ms: number, queue_rows: number): void;
  /** Rows of this kind were deleted for their age. */
  deleted(what: string, rows: number): void;
  /** Whether this node counts rate limits alone although it should share them. */
  rateLimitsDegraded(degraded: boolean): void;
  /** One request was decided on by this node's own rate windows although it should share them. */
  rateTakenAlone(): void;
  /** How many row sets wait for the commit writer, asked at each scrape. */
  watchQueue(depth: () => number): void;
  /** The node's sessions with the database and who waits for one, asked at each scrape. */
  watchSessions(stats: () => { readonly total: number; readonly idle: number; readonly waiting: number }): void;
  /** What waits in all organizations, asked at each scrape; null: not known, the series are left out. */
  watchBacklog(count: () => Promise<Backlog | null>): void;
  /** The text that Prometheus reads. */
  text(): Promise<string>;
  readonly content_type: string;
}

const seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Creates the counts of one node. Each node has its own registry, so that several can live in one process. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  // `known`: what will be counted, where that is a short list. A series that appears with its first count is no increase to
  // Prometheus, and an alarm for the first mail given up would not sound.
  const tally = (name: string, help: string, labelNames: readonly string[], known: readonly string[] = []) => {
    const counts = new Map<string, number>(known.map((labels) => [labels, 0]));
    new Counter({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const [labels, count] of counts) {
          const values = labels.split(" ");
          this.inc(Object.fromEntries(labelNames.map((label, at) => [label, values[at] as string])), count);
        }
      },
    });
    return (labels: string, by = 1): void => void counts.set(labels, (counts.get(labels) ?? 0) + by);
  };
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name, help, buckets, registers });

  const requests = tally("countersign_http_requests_total", "Requests answered.", ["operation", "status"]);
  const refusals = tally(
    "countersign_refusals_total",
    "Requests refused, by error code.",
    ["code"],
    Object.keys(errorCodes),
  );
  const verdicts = tally(
    "countersign_decisions_total",
    "Decisions committed.",
    ["verdict", "mode"],
    ["approve", "approve_modified", "escalate", "block"].flatMap((verdict) =>
      ["live", "shadow", "test"].map((mode) => `${verdict} ${mode}`),
    ),
  );
  const again = tally(
    "countersign_decisions_again_total",
    "Decisions made again because what they assumed had changed.",
    [],
  );
  const attempts = tally(
    "countersign_delivery_attempts_total",
    "Attempts to deliver, by what became of the delivery.",
    ["status"],
    ["delivered", "failed", "cancelled", "pending"],
  );
  const mails = tally(
    "countersign_mail_attempts_total",
    "Attempts to send a mail, by what became of it.",
    ["outcome"],
    ["dealt_with", "put_off", "given_up"],
  );
  const pulls = tally(
    "countersign_context_pulls_total",
    "Questions to context sources, by outcome.",
    ["outcome"],
    ["pulled", "kept", ...Object.keys(pullFailures)],
  );
  const deletions = tally("countersign_rows_deleted_total", "Rows deleted for their age, by what they were.", ["what"]);
  const attempt = histogram(
    "countersign_delivery_attempt_seconds",
    "From the lookup to the head of the answer.",
    seconds,
  );
  const latency = histogram("countersign_decision_seconds", "From the start of a submission to its commit.", seconds);
  const request = histogram(
    "countersign_http_request_seconds",
    "From the first look at a request to its answer.",
    seconds,
  );
  const statement = histogram("countersign_commit_statement_seconds", "Statements of the commit writer.", seconds);
  const rows = histogram(
    "countersign_commit_batch_rows",
    "Row sets in one statement.",
    [1, 2, 4, 8, 16, 32, 64, 128, 256],
  );
  const alone = tally(
    "countersign_rate_takes_alone_total",
    "Requests counted by this node alone because Redis did not answer in time.",
    [],
  );
  const degraded = new Gauge({
    name: "countersign_rate_limits_degraded",
    help: "1 while Redis does not answer and rate limits are counted per node.",
    registers,
  });

  return {
    requested(route, status, elapsed_us) {
      requests(`${route} ${status}`);
      request.observe(elapsed_us / 1_000_000);
    },
    refused: (code) => refusals(code),
    decided(verdict, mode, elapsed_us) {
      verdicts(`${verdict} ${mode}`);
      latency.observe(elapsed_us / 1_000_000);
    },
    attempted(status, duration_ms) {
      attempts(status);
      attempt.observe(duration_ms / 1000);
    },
    mailed: (outcome) => mails(outcome),
    pulled: (outcome) => pulls(outcome),
    deleted: deletions,
    decidedAgain: () => again(""),
    statement(batch_rows, statement_ms) {
      rows.observe(batch_rows);
      statement.observe(statement_ms / 1000);
    },
    rateLimitsDegraded: (now) => degraded.set(now ? 1 : 0),
    rateTakenAlone: () => alone(""),
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
    watchBacklog(count) {
      new Gauge({
        name: "countersign_backlog_rows",
        help: `What waits to leave the service, of all nodes and organizations; counted up to ${backlog_counted_max}.`,
        labelNames: ["what"],
        registers,
        async collect() {
          this.reset();
          for (const [what, rows] of Object.entries((await count()) ?? {})) this.set({ what }, rows);
        },
      });
    },
    text: () => registry.metrics(),
    content_type: registry.contentType,
  };
}
