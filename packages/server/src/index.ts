/**
 * For the command line, the only importing package. Each export loads its module on the first call, because loading all
 * would double the start of every command.
 */
import type * as instance from "./edge/instance/instance.ts";
import type * as main from "./edge/main.ts";
import type * as supervisor from "./edge/workers/supervisor.ts";
import type * as worker from "./edge/workers/worker.ts";

export type { InspectedDatabase, Instance } from "./edge/instance/instance.ts";
export type { SecretsStatus } from "./edge/instance/secrets.ts";
export {
  findPostgres,
  openKeyRing,
  readPacks,
  readVerifyPage,
  replaceMasterKeyFile,
} from "./edge/instance/without-database.ts";
export { type Config, readConfig } from "./edge/start/config.ts";
export { isWorker, workersOf } from "./edge/workers/worker-count.ts";
export type { Verified } from "./operations/audit/verify-organization.ts";
export type { Log } from "./ports.ts";
export type { StartRefused } from "./store/database/start-refused.ts";
export type { ListedOrganization } from "./store/organizations/organizations.ts";
export { inspectRedis } from "./store/upkeep/inspect-redis.ts";
export type { InspectedReplica } from "./store/upkeep/inspect-replicas.ts";

export const startService: typeof main.startService = async (...given) =>
  (await import("./edge/main.ts")).startService(...given);

export const startSupervisor: typeof supervisor.startSupervisor = async (...given) =>
  (await import("./edge/workers/supervisor.ts")).startSupervisor(...given);

export const meetSupervisor: typeof worker.meetSupervisor = async () =>
  (await import("./edge/workers/worker.ts")).meetSupervisor();

export const openInstance: typeof instance.openInstance = async (...given) =>
  (await import("./edge/instance/instance.ts")).openInstance(...given);
