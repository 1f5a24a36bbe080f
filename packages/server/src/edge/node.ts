import { open_mode_org_id } from "@countersign/contract";
import { networkList, packSources } from "@countersign/core";
import { rateLimitsUnder, Unsettled } from "../http/answer/rate-limit.ts";
import { type ConsoleFiles, createConsole } from "../http/console.ts";
import { createDocsSite } from "../http/docs-site.ts";
import { sessionCookies } from "../http/gate/cookie.ts";
import { createKeyReader } from "../http/gate/key-reader.ts";
import { createKeyUses } from "../http/gate/key-uses.ts";
import { Keys } from "../http/gate/keys.ts";
import { mayBeForwarded } from "../http/gate/local.ts";
import { createSessions } from "../http/gate/sessions.ts";
import { createMetrics, type Metrics } from "../http/metrics.ts";
import { allRoutes } from "../http/routes/index.ts";
import { buildServer, type HttpServer } from "../http/server.ts";
import { createContextPauses } from "../operations/context/context-pauses.ts";
import { createContextPulls } from "../operations/context/context-pulls.ts";
import { isRegistered } from "../operations/context/context-source.ts";
import { createNodeCounters } from "../operations/counters/node-counters.ts";
import { createReviewQueues } from "../operations/escalations/review-queue.ts";
import { createFiguresKeeper } from "../operations/figures/keep-figures.ts";
import { createDecisionLatencies } from "../operations/intents/decision-latencies.ts";
import { createDecisionReads } from "../operations/intents/decision-reads.ts";
import { createDecisionWaits } from "../operations/intents/decision-waits.ts";
import { createReviewWaits } from "../operations/intents/review-waits.ts";
import { createLogKeeper } from "../operations/log/keep-log.ts";
import { ensureOpenModeOrganization } from "../operations/organizations/create-organization.ts";
import type { Runtime } from "../operations/runtime.ts";
import type { ClockWatch } from "../operations/shared/node-services.ts";
import { createOrgStates } from "../operations/shared/org-state.ts";
import { createAgentTokens } from "../operations/tokens/agent-tokens.ts";
import { createBacklogWatch, createExpiryWatch, createStreamWatch } from "../operations/upkeep/watch-backlog.ts";
import type {
  Clock,
  HttpOut,
  Ids,
  Log,
  Mailer,
  Passwords,
  RateWindows,
  Sealer,
  Spans,
  Timers,
  TxtRecords,
} from "../ports.ts";
import { createCommitWriter } from "../store/commit/commit-writer.ts";
import { connectCommit } from "../store/commit/commit-writer-connection.ts";
import type { CommitMetrics } from "../store/commit/commit-writer-lane.ts";
import type { CommitWriter } from "../store/commit/commit-writer-rows.ts";
import type { ConnectionOptions } from "../store/database/connection.ts";
import type { Database } from "../store/database/db.ts";
import { NodeRateWindows } from "../store/rate-windows/rate-windows.ts";
import { startAging } from "../worker/aging.ts";
import { startClockWatch } from "../worker/clock-watch.ts";
import { type Deliveries, type DeliveryRuntime, startDeliveries } from "../worker/deliveries/deliveries.ts";
import type { DeliveryTerms } from "../worker/deliveries/delivery-terms.ts";
import { startDomainChecks } from "../worker/domain-checks.ts";
import { startErasure } from "../worker/erasure.ts";
import { startFigures } from "../worker/figures.ts";
import { startFreezes } from "../worker/freezes.ts";
import { startKeyExpiry } from "../worker/key-expiry.ts";
import { startLog, startWitness } from "../worker/log.ts";
import { type Mails, startMails } from "../worker/mails.ts";
import type { Loop } from "../worker/passes.ts";
import { startRollouts } from "../worker/rollouts.ts";
import { startRecordingState } from "../worker/state.ts";
import { startStreams } from "../worker/streams.ts";
import { startTimeLimits } from "../worker/time-limits.ts";
import { createPushRequests } from "./outgoing/push-requests.ts";
import { createStreamFiles } from "./outgoing/stream-files.ts";
import { createTxtRecords } from "./outgoing/txt-records.ts";
import { createOpenId } from "./sign-in/open-id.ts";
import { createPasskeyChecks } from "./sign-in/passkey-checks.ts";
import type { Config } from "./start/config.ts";
import type { PackLibrary } from "./start/pack-files.ts";
import { createBacktestThreads } from "./threads/backtest-threads.ts";
import { newRequestCount, type RequestCount } from "./threads/give-way.ts";
import type { ThreadProgram } from "./threads/thread-program.ts";
import type { Supervised } from "./workers/worker.ts";

export interface NodeParts {
  readonly config: Pick<
    Config,
    | "signup"
    | "authzen"
    | "rate_limits"
    | "trust_proxy"
    | "metrics_token"
    | "redis_url"
    | "public_url"
    | "deliveries_kept_days"
    | "log_witnesses"
    | "stream_dir"
  >;
  readonly db: Database;
  readonly connection: ConnectionOptions;
  /** For the reads of backtests. `db` has replicas of its own. */
  readonly replicas?: readonly ConnectionOptions[];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly timers: Timers;
  readonly log: Log;
  readonly packs: Pick<PackLibrary, "packs" | "policySetOf" | "refuseUnknownPacks" | "refuseUnknownRules">;
  readonly sealer: Sealer;
  /** Null: no traces. */
  readonly spans: Spans | null;
  readonly httpOut: HttpOut;
  /** Absent: the machine's name servers. */
  readonly txtRecords?: TxtRecords;
  readonly passwords: Passwords;
  readonly mailer: Mailer;
  /** Absent or null: no console is served. */
  readonly console?: ConsoleFiles | null;
  /** Pages by their path below /docs. Absent or null: not served. */
  readonly docs?: ConsoleFiles | null;
  readonly supervised?: Pick<Supervised, "windows" | "metricsText" | "watchMetrics"> | undefined;
  /** Absent: the loop runs in this thread with `deliveryTerms` (tests, simulation). */
  readonly deliveries?: (runtime: DeliveryRuntime, requests: RequestCount) => Deliveries;
  /** Tests only. */
  readonly deliveryTerms?: DeliveryTerms;
  /** For tests. Absent: the clock is compared with the database's. */
  readonly clockWatch?: ClockWatch & Loop;
  /** Tests only. */
  readonly backtestThread?: ThreadProgram;
}

/** For requests in flight at the stop. */
const answering_ms_max = 4_000;

/** Of a service without a public address. */
const log_name_default = "countersign";

const open_mode_warning =
  "OPEN MODE: no API key exists yet, so callers on this machine are admin without a key; creating the first key ends this permanently";

const first_key_warning =
  "no API key exists yet, and behind a proxy no caller is admin without a key: create the first one with `countersign keys create --role admin`";

export interface ServiceNode {
  readonly app: HttpServer;
  readonly runtime: Runtime;
  readonly metrics: Metrics;
  /**
   * Reports not ready, serves for another `drain_ms`, stops accepting, finishes requests in flight and settles the
   * write queue. The database stays open.
   */
  close(drain_ms?: number): Promise<void>;
}

export async function assembleNode(parts: NodeParts): Promise<ServiceNode> {
  const { config, db, clock, ids, timers, log } = parts;
  const metrics = createMetrics();
  const writer = createCommitWriter({
    connect: connectCommit(parts.connection),
    log,
    clock,
    timers,
    metrics: traced(metrics, parts),
  });
  const uses = createKeyUses(db, timers, log);
  const keyReader = createKeyReader(db, open_mode_org_id);
  const keys = new Keys(keyReader, clock, uses, config.rate_limits);
  await ensureOpenModeOrganization(parts);
  const trust = networkList(config.trust_proxy);
  if (!(await keyReader.openMode()).key_ever_created) warnOfOpenMode(parts, trust);
  const clockWatch = parts.clockWatch ?? (await startClockWatch(parts));
  watchNode(metrics, parts, writer, clockWatch);
  // After all steps that can fail, because a failed start would not close the Redis client.
  const windows = await openWindows(parts, metrics);
  parts.supervised?.watchMetrics(() => metrics.values());
  const waits = createDecisionWaits(db, timers, log);
  const { sealer, httpOut } = parts;
  const pulls = createContextPulls({
    ...{ clock, ids, timers, log, sealer, httpOut, metrics },
    isRegistered: (org_id, source) => isRegistered(db, org_id, source),
  });
  const requests = newRequestCount();
  const backtests = createBacktestThreads(parts, parts.packs.packs, log, requests, parts.backtestThread);
  let stopping = false;
  let deliveries: Deliveries | undefined;
  let mails: Mails | undefined;

  const runtime: Runtime = {
    ...{ db, clock, clockWatch, ids, timers, log, writer },
    orgStates: createOrgStates(db, (membrane, own) => parts.packs.policySetOf(membrane, own)),
    callers: keys,
    decisionReads: createDecisionReads(db, timers),
    ...{ waits, reviewWaits: createReviewWaits(db, ids.salt(), log) },
    contextPauses: createContextPauses(timers),
    pulls,
    agentTokens: createAgentTokens({ clock, log, httpOut }),
    reviewQueues: createReviewQueues(db, clock),
    counters: createNodeCounters(db),
    ...{ latencies: createDecisionLatencies(), figures: createFiguresKeeper(db) },
    metrics,
    ...{ sealer, httpOut, pushRequests: createPushRequests(clock), streamFiles: streamFilesIn(config) },
    txtRecords: parts.txtRecords ?? createTxtRecords(),
    deliveries: { wake: (org_id, what) => deliveries?.wake(org_id, what) },
    passkeys: createPasskeyChecks(),
    openId: createOpenId(parts.httpOut),
    ...{ passwords: parts.passwords, mailer: parts.mailer },
    mails: { wake: () => mails?.wake() },
    rateWindows: windows.windows,
    backtests,
    settings: settingsOf(config, () => app.url()),
    refuseUnknownPacks: (packs) => parts.packs.refuseUnknownPacks(packs),
    refuseUnknownRules: (rules) => parts.packs.refuseUnknownRules(rules),
    packRules: (names, off) => packSources(parts.packs.packs, names, off).map(({ document }) => document),
  };
  const cookies = sessionCookies(runtime.settings.public_url);
  const app: HttpServer = buildServer({
    ...{ ids, clock, timers, log, metrics },
    spans: parts.spans,
    console: createConsole(parts.console ?? null, createDocsSite(parts.docs ?? null)),
    gate: {
      keys,
      sessions: createSessions(runtime, config.rate_limits),
      cookies,
      public_url: runtime.settings.public_url,
      signup_open: config.signup === "open",
      windows: windows.windows,
      unsettled: new Unsettled(),
      limits: rateLimitsUnder(config.rate_limits),
      trust,
    },
    handlers: allRoutes({
      runtime,
      packs: parts.packs.packs,
      cookies,
      metrics: parts.supervised === undefined ? metrics : { ...metrics, text: parts.supervised.metricsText },
      metrics_token: config.metrics_token,
      stopping: () => stopping,
    }),
  });
  app.server.on("request", () => Atomics.add(requests, 0, 1));
  const loops = startLoops(runtime, parts, metrics);
  deliveries = parts.deliveries?.(runtime, requests) ?? startDeliveries(runtime, parts.deliveryTerms);
  mails = startMails(runtime);

  return {
    app,
    runtime,
    metrics,
    async close(drain_ms = 0) {
      stopping = true;
      if (drain_ms > 0) await new Promise<void>((resolve) => timers.after(drain_ms, resolve));
      waits.stop();
      // In parallel, because each may need seconds, and all together have ten.
      const stops = [clockWatch, ...loops, deliveries, mails].map((loop) => loop?.stop());
      const cancel = timers.after(answering_ms_max, () => app.server.closeAllConnections());
      await Promise.all([backtests.stop(), app.close(), ...stops]);
      cancel();
      await writer.close();
      // A failure loses only one minute of usage notes.
      await uses.flush(null).catch((error: unknown) => log.warn({ err: error }, "could not store when keys were used"));
      windows.close();
    },
  };
}

function streamFilesIn({ stream_dir }: NodeParts["config"]): Runtime["streamFiles"] {
  return stream_dir === null ? null : createStreamFiles(stream_dir);
}

function settingsOf(config: NodeParts["config"], url: () => string): Runtime["settings"] {
  return {
    public_url: () => config.public_url ?? url(),
    authzen: config.authzen,
    log_witnesses: config.log_witnesses.map(({ key }) => key),
  };
}

function startLoops(runtime: Runtime, { config }: NodeParts, metrics: Metrics): Loop[] {
  const aging = startAging(runtime, {
    deliveries_kept_days: config.deliveries_kept_days,
    deleted: (what, rows) => metrics.deleted(what, rows),
  });
  metrics.watchFigures(() => runtime.figures.behind());
  const logName = () => (config.public_url === null ? log_name_default : new URL(config.public_url).host);
  const keeper = createLogKeeper({ ...runtime, logName });
  metrics.watchLog(keeper);
  return [
    aging,
    startTimeLimits(runtime),
    startDomainChecks(runtime),
    startFigures(runtime),
    startErasure(runtime),
    startFreezes(runtime),
    startRecordingState(runtime),
    startKeyExpiry(runtime),
    startLog(runtime, keeper),
    ...config.log_witnesses.map((witness) => startWitness(runtime, witness)),
    startRollouts(runtime),
    startStreams(runtime),
  ];
}

function watchNode(
  metrics: Metrics,
  { db, timers, log }: NodeParts,
  writer: CommitWriter,
  clockWatch: ClockWatch,
): void {
  metrics.watchQueue(() => writer.depth());
  metrics.watchSessions(() => db.stats());
  metrics.watchReads(() => db.reads());
  metrics.watchClock(() => clockWatch.offset_s());
  metrics.watchBacklog(createBacklogWatch(db, timers, log));
  metrics.watchExpiringKeys(createExpiryWatch(db, timers, log));
  metrics.watchStreams(createStreamWatch(db, timers, log));
}

function warnOfOpenMode({ config, log }: NodeParts, trust: ReturnType<typeof networkList>): void {
  const behind_proxy = mayBeForwarded("127.0.0.1", trust, config.public_url ?? "http://127.0.0.1");
  log.warn({ org_id: open_mode_org_id }, behind_proxy ? first_key_warning : open_mode_warning);
}

/** Loads the Redis client only if it is used. */
async function openWindows(
  { config: { redis_url }, log, supervised }: NodeParts,
  metrics: Metrics,
): Promise<{ windows: RateWindows; close(): void }> {
  if (redis_url === null) return { windows: supervised?.windows ?? new NodeRateWindows(), close: () => undefined };
  const { openRedisRateWindows } = await import("../store/rate-windows/rate-windows-redis.ts");
  const windows = openRedisRateWindows({
    url: redis_url,
    log,
    onDegraded: (degraded) => metrics.rateLimitsDegraded(degraded),
    onAlone: () => metrics.rateTakenAlone(),
  });
  return { windows, close: () => windows.close() };
}

function traced(metrics: Metrics, { spans, clock }: NodeParts): CommitMetrics {
  if (spans === null) return metrics;
  return {
    statement(rows, statement_ms, queue_rows) {
      metrics.statement(rows, statement_ms, queue_rows);
      const ended_us = clock.now_us();
      const started_us = ended_us - Math.round(statement_ms * 1000);
      const attributes = {
        "db.system.name": "postgresql",
        "countersign.batch_rows": rows,
        "countersign.queue_rows": queue_rows,
      };
      spans.ended({ name: "commit_decisions", kind: "client", started_us, ended_us, failed: false, attributes });
    },
  };
}
