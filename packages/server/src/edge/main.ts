import { networkList } from "@countersign/core";
import { unreadablePlaces } from "../operations/upkeep/reseal.ts";
import { docs_dir } from "../paths.ts";
import type { ConnectionOptions } from "../store/database/connection.ts";
import { openDb } from "../store/database/db.ts";
import { migrate } from "../store/database/migrate.ts";
import { type StartedDatabase, startDatabase, startRefusal } from "../store/database/start-database.ts";
import { StartRefused } from "../store/database/start-refused.ts";
import { countLostOrganizations } from "../store/organizations/organizations.ts";
import { createClock } from "./clock.ts";
import { boundHeapGrowth } from "./heap.ts";
import { createIds } from "./ids.ts";
import { createLog, type ProcessLog } from "./log.ts";
import { assembleNode } from "./node.ts";
import { createHttpOut } from "./outgoing/http-out.ts";
import { createMailer } from "./sign-in/mailer.ts";
import { createPasswords } from "./sign-in/passwords.ts";
import type { Config } from "./start/config.ts";
import { loadConsole } from "./start/console-files.ts";
import { openMasterKeys } from "./start/master-key.ts";
import { loadPacks, type PackLibrary } from "./start/pack-files.ts";
import { createSealer } from "./start/sealer.ts";
import { startDeliveryThread } from "./threads/delivery-thread-host.ts";
import type { ThreadProgram } from "./threads/thread-program.ts";
import { timers } from "./timers.ts";
import type { Supervised } from "./workers/worker.ts";

const missing_key =
  "no master key that is set here opens some sealed values: add the missing key (COUNTERSIGN_OTHER_MASTER_KEYS, docs/how-to/master-key.md)";

const lost_organizations =
  "organizations of some keys or people are missing in this database, as after a dump without the rows that row-level security hides: restore a complete dump (docs/how-to/back-up.md)";
/** A loss affects all organizations, so some names show it. */
const looked_at_max = 1_000;

/**
 * Time for the end after the drain. Work that waits for an unavailable database may be dropped: it was not confirmed.
 * The embedded database needs the rest of ten seconds.
 */
const ending_ms_max = 7_500;

export interface Service {
  /** `http://host:port` with the actual port. */
  readonly url: string;
  /**
   * Drains for the configured time (unless `drains` is false), finishes requests in flight, settles the write queue,
   * and stops the embedded database.
   */
  stop(drains?: boolean): Promise<void>;
}

export interface StartParts {
  /** For the benchmark. */
  readonly packs_folder?: string;
  /** For tests: shared by several services of one process. */
  readonly packs?: Promise<PackLibrary>;
  /** Absent: the process serves alone. */
  readonly supervised?: Supervised;
  /** For tests. */
  readonly deliveryThread?: ThreadProgram | undefined;
}

/** Throws `StartRefused` with one line a problem. */
export async function startService(
  config: Config,
  log: ProcessLog = createLog(config.log_level),
  parts: StartParts = {},
): Promise<Service> {
  boundHeapGrowth();
  for (const name of config.unknown_settings) log.warn({ name }, "unknown setting: check its spelling");
  const clock = createClock();
  const loading = parts.packs ?? loadPacks(parts.packs_folder);
  loading.catch(() => undefined);
  const database = await databaseFor(config, log, parts.supervised);
  const { connection, replicas } = database;
  const db = openDb(connection, log, { replicas });
  try {
    const { webhook_allow_http: allow_http, webhook_allow_cidrs } = config;
    const httpOut = createHttpOut({ rules: { allow_http, allow_networks: networkList(webhook_allow_cidrs) } });
    const mailer = createMailer(config, log);
    // Loaded only when used, because the libraries add 0.1 s to every start.
    const tracing =
      config.otel_endpoint === null ? null : (await import("./tracing.ts")).openTracing(config.otel_endpoint);
    await migrate(connection, log);
    const packs = await loading;
    const keys = await openMasterKeys(config);
    const receivers = { connection, allow_http, allow_cidrs: webhook_allow_cidrs, ...keys };
    const sealer = createSealer(keys.master_key, keys.other_master_keys);
    const places = await unreadablePlaces({ db, ring: sealer });
    if (places.length > 0) log.error({ places, key_id: sealer.key_id }, missing_key);
    const organizations = await db.system((query) => countLostOrganizations(query, looked_at_max));
    if (organizations > 0) log.error({ organizations }, lost_organizations);
    const node = await assembleNode({
      ...{ config, db, connection, replicas, clock, timers, log, packs, sealer, httpOut, mailer },
      ids: createIds(clock),
      passwords: createPasswords(),
      ...{ console: await loadConsole(), docs: await loadConsole(docs_dir) },
      spans: tracing,
      supervised: parts.supervised,
      deliveries: (runtime, requests) => startDeliveryThread({ ...receivers, requests }, runtime, parts.deliveryThread),
    });
    try {
      await node.app.listen({ host: config.host, port: config.port });
    } catch (error) {
      await node.close();
      throw listenRefusal(error, config);
    }
    const { port } = node.app.server.address() as { port: number };
    const url = `http://${config.host.includes(":") ? `[${config.host}]` : config.host}:${port}`;
    return {
      url,
      async stop(drains = true) {
        const drain_ms = drains ? config.drain_seconds * 1000 : 0;
        async function end(): Promise<void> {
          await node.close(drain_ms);
          mailer.close();
          await Promise.all([httpOut.close(), tracing?.close()]);
          await db.close();
        }
        try {
          await endWithin(drain_ms + ending_ms_max, log, end());
        } finally {
          await database.stop();
        }
      },
    };
  } catch (error) {
    await db.close();
    await database.stop();
    throw startRefusal(error);
  }
}

/** A worker uses its supervisor's database, which the supervisor stops. */
async function databaseFor(
  config: Config,
  log: ProcessLog,
  supervised: Supervised | undefined,
): Promise<Pick<StartedDatabase, "connection" | "stop"> & { readonly replicas: readonly ConnectionOptions[] }> {
  const replicas = config.database_replica_urls.map((connectionString) => ({ connectionString }));
  if (supervised !== undefined) return { connection: supervised.connection, replicas, stop: async () => undefined };
  return { ...(await startDatabase({ ...config, search: { path: config.path } }, log)), replicas };
}

/** Waits at most `limit_ms`. Rejects as `end` does. */
async function endWithin(limit_ms: number, log: ProcessLog, end: Promise<void>): Promise<void> {
  let cancelLate = () => {};
  const late = new Promise<void>((resolve) => {
    cancelLate = timers.after(limit_ms, () => {
      log.warn({}, "the service ends without waiting longer for its database");
      resolve();
    });
  });
  await Promise.race([end, late]).finally(cancelLate);
}

function listenRefusal(error: unknown, config: Config): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const place = `${config.host}:${config.port}`;
  if (code === "EADDRINUSE")
    return new StartRefused(
      `PORT=${config.port}: another program listens on ${place}; stop it or choose another PORT (0 picks one)`,
    );
  if (code === "EACCES")
    return new StartRefused(`PORT=${config.port}: this user may not listen on ${place}; choose a port of 1024 or more`);
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return new StartRefused(`HOST=${JSON.stringify(config.host)}: this machine has no such address`);
  return error;
}
