/** What the command line uses of the service; nothing else imports this package. */
import type * as main from "./edge/main.ts";

export {
  checkPolicy,
  type PolicyDiagnostic,
  type PolicyDocument,
  redTestDiagnostics,
  runPolicyTests,
} from "@countersign/core";
export { type Config, readConfig } from "./edge/config.ts";
export { type Instance, openInstance } from "./edge/instance.ts";
export { MasterKeyMissing, readMasterKeys, replaceMasterKeyFile } from "./edge/master-key.ts";
export { loadPacks } from "./edge/pack-files.ts";
export { createSealer, type MasterKeys, masterKeyId } from "./edge/sealer.ts";
export { readRateLimits } from "./edge/setting-values.ts";
export { compileCheck } from "./http/validate.ts";
export { changePlan, type Plan } from "./operations/change-plan.ts";
export { createKey } from "./operations/create-key.ts";
export { ensureOpenModeOrganization } from "./operations/create-organization.ts";
export { listKeys } from "./operations/list-keys.ts";
export { getPack, listPacks } from "./operations/read-packs.ts";
export { type Resealed, resealAll, type SealedCount, sealedStatus } from "./operations/reseal.ts";
export { revokeKey } from "./operations/revoke-key.ts";
export type { KeyRing } from "./operations/sealer.ts";
export { type KeyLimits, setKeyLimits } from "./operations/set-key-limits.ts";
export { type Verified, verifyOrganization } from "./operations/verify-organization.ts";
export type { Log } from "./ports.ts";
export { type ConnectionOptions, isConnectionLost, isOutOfTime } from "./store/connection.ts";
export { type Database, openDb } from "./store/db.ts";
export { attachEmbedded } from "./store/embedded-postgres/attach.ts";
export { packagedBinaries, systemBinaries } from "./store/embedded-postgres/binaries.ts";
export { exportDump, restoreDump } from "./store/export.ts";
export { type DatabaseState, inspectDatabase, inspectRedis, node_sessions_max } from "./store/inspect.ts";
export { organizationOfKey } from "./store/key-organization.ts";
export { countLostOrganizations, type ListedOrganization, listOrganizations } from "./store/organizations.ts";
export { readDocumentsInForce } from "./store/policies.ts";
export { openSharedDatabase, startSharedDatabase } from "./store/shared-database.ts";
export { StartRefused } from "./store/start-refused.ts";

/** `startService` of edge/main.ts. All that only a service needs is loaded here: with it every command took twice as long. */
export const startService: typeof main.startService = async (...given) =>
  (await import("./edge/main.ts")).startService(...given);
