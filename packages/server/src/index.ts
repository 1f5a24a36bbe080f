/** What the command line uses of the service; nothing else imports this package. */
export type { KeyRing } from "./ports.ts";

import type * as main from "./edge/main.ts";

export {
  checkPolicy,
  type PolicyDiagnostic,
  type PolicyDocument,
  redTestDiagnostics,
  runPolicyTests,
} from "@countersign/core";
export { type Instance, openInstance } from "./edge/instance.ts";
export { type Config, readConfig } from "./edge/start/config.ts";
export { MasterKeyMissing, readMasterKeys, replaceMasterKeyFile } from "./edge/start/master-key.ts";
export { loadPacks } from "./edge/start/pack-files.ts";
export { createSealer, type MasterKeys, masterKeyId } from "./edge/start/sealer.ts";
export { readRateLimits } from "./edge/start/setting-values.ts";
export { compileCheck } from "./http/request/validate.ts";
export { type Verified, verifyOrganization } from "./operations/audit/verify-organization.ts";
export { createKey } from "./operations/keys/create-key.ts";
export { listKeys } from "./operations/keys/list-keys.ts";
export { revokeKey } from "./operations/keys/revoke-key.ts";
export { type KeyLimits, setKeyLimits } from "./operations/keys/set-key-limits.ts";
export { changePlan, type Plan } from "./operations/organizations/change-plan.ts";
export { ensureOpenModeOrganization } from "./operations/organizations/create-organization.ts";
export { getPack, listPacks } from "./operations/policies/read-packs.ts";
export { type Resealed, resealAll, type SealedCount, sealedStatus } from "./operations/upkeep/reseal.ts";
export type { Log } from "./ports.ts";
export { type ConnectionOptions, isConnectionLost, isOutOfTime } from "./store/database/connection.ts";
export { type Database, openDb } from "./store/database/db.ts";
export { openSharedDatabase, startSharedDatabase } from "./store/database/shared-database.ts";
export { StartRefused } from "./store/database/start-refused.ts";
export { attachEmbedded } from "./store/embedded-postgres/attach.ts";
export { packagedBinaries, systemBinaries } from "./store/embedded-postgres/binaries.ts";
export { organizationOfKey } from "./store/keys/key-organization.ts";
export {
  countLostOrganizations,
  type ListedOrganization,
  listOrganizations,
} from "./store/organizations/organizations.ts";
export { readDocumentsInForce } from "./store/policies/policies.ts";
export { exportDump, restoreDump } from "./store/upkeep/export.ts";
export { type DatabaseState, inspectDatabase, inspectRedis, node_sessions_max } from "./store/upkeep/inspect.ts";

/** `startService` of edge/main.ts. All that only a service needs is loaded here: with it every command took twice as long. */
export const startService: typeof main.startService = async (...given) =>
  (await import("./edge/main.ts")).startService(...given);
