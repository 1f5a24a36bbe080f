/**
 * Operations for the command line. Each member loads its code on the first call, because loading all doubled the start
 * time.
 */
import type { Readable, Writable } from "node:stream";
import type { Log } from "../../ports.ts";
import { isConnectionLost, isOutOfTime } from "../../store/database/connection.ts";
import { organizationOfKey } from "../../store/keys/key-organization.ts";
import {
  countLostOrganizations,
  type ListedOrganization,
  listOrganizations,
} from "../../store/organizations/organizations.ts";
import { readDocumentsInForce } from "../../store/policies/policies.ts";
import type { DistributedPart } from "../../store/upkeep/distribute.ts";
import { type DatabaseState, inspectDatabase, node_sessions_max } from "../../store/upkeep/inspect.ts";
import type { InspectedReplica } from "../../store/upkeep/inspect-replicas.ts";
import { timers } from "../timers.ts";
import { command_line_actor, type InstanceKeys, instanceKeys } from "./keys.ts";
import { type DatabaseSettings, type OpenedDatabase, type Opening, openDatabase } from "./open-database.ts";
import { type InstanceSecrets, instanceSecrets } from "./secrets.ts";

type Verify = typeof import("../../operations/audit/verify-organization.ts").verifyOrganization;
type Figures = typeof import("../../operations/figures/rebuild-figures.ts");
type Plan = import("../../operations/organizations/change-plan.ts").Plan;

export interface Instance {
  readonly organizations: {
    /** The oldest first. */
    list(): Promise<ListedOrganization[]>;
    /** Undefined: there is no such key. */
    ofKey(key_id: string): Promise<string | undefined>;
    /** Faults: not_found. */
    plan(org_id: string, plan: Plan): Promise<void>;
    ensureOpenMode(): Promise<void>;
    /** Returns the membrane for submissions without one. */
    defaultMembrane(org_id: string): Promise<string>;
    /** Counts missing organizations of keys and people, as after a restore of an incomplete dump. */
    countLost(): Promise<number>;
  };
  readonly keys: InstanceKeys;
  readonly policies: {
    inForce(org_id: string): ReturnType<typeof readDocumentsInForce>;
  };
  readonly audit: {
    /** Verifies the audit trail and the records that it covers. Reads only. */
    verify(org_id: string, expect_root: string | undefined, told: Parameters<Verify>[3]): ReturnType<Verify>;
  };
  readonly figures: {
    progress(): ReturnType<Figures["listProgress"]>;
    /** Counts an organization's decisions again. */
    rebuild(org_id: string, told: Parameters<Figures["rebuildFigures"]>[2]): ReturnType<Figures["rebuildFigures"]>;
  };
  readonly secrets: InstanceSecrets;
  readonly database: {
    /** `running`: the embedded server of another process. */
    readonly source: OpenedDatabase["source"];
    /** Reads the state of server and schema. Changes nothing. */
    inspect(): Promise<InspectedDatabase>;
    inspectReplicas(): Promise<InspectedReplica[]>;
    /**
     * Writes the database as one SQL script, from a replica unless `primary` is set. Returned `replica`: null for the
     * primary. Throws `StartRefused` if a replica ends the dump.
     */
    export(output: Writable, primary?: boolean): Promise<{ rows: number; replica: string | null }>;
    /** Restores a dump into an empty database, all or nothing. Returns the time of the dump. Throws `StartRefused`. */
    restore(dump: Readable): Promise<string>;
    /** Distributes the tables over a Citus cluster, and reports each finished step. Throws `StartRefused`. */
    distribute(tell: (part: DistributedPart) => void): Promise<void>;
    /** True: the database was lost, or a statement took too long. */
    isFailure(error: unknown): boolean;
  };
  close(): Promise<void>;
}

export type InspectedDatabase = DatabaseState & { readonly node_sessions_max: number };

export async function openInstance(config: DatabaseSettings, log: Log, opening?: Opening): Promise<Instance> {
  const opened = await openDatabase(config, log, opening);
  const { db, connection, replicas, source } = opened;
  return {
    organizations: {
      list: () => db.system(listOrganizations),
      ofKey: (key_id) => db.system((query) => organizationOfKey(query, key_id)),
      async plan(org_id, plan) {
        const { changePlan } = await import("../../operations/organizations/change-plan.ts");
        await changePlan(opened, { org_id, actor: command_line_actor }, plan);
      },
      async ensureOpenMode() {
        const { ensureOpenModeOrganization } = await import("../../operations/organizations/create-organization.ts");
        await ensureOpenModeOrganization(opened);
      },
      async defaultMembrane(org_id) {
        const { readDefaultMembrane } = await import("../../store/membranes/membranes.ts");
        return db.tenant(org_id, (query) => readDefaultMembrane(query, org_id));
      },
      countLost: () => db.system((query) => countLostOrganizations(query, null)),
    },
    keys: instanceKeys(opened),
    policies: {
      inForce: (org_id) => db.tenant(org_id, (query) => readDocumentsInForce(query, org_id)),
    },
    audit: {
      async verify(org_id, expect_root, told) {
        const { verifyOrganization } = await import("../../operations/audit/verify-organization.ts");
        return verifyOrganization(db, org_id, expect_root, told);
      },
    },
    figures: {
      progress: async () => (await import("../../operations/figures/rebuild-figures.ts")).listProgress(db),
      async rebuild(org_id, told) {
        const { rebuildFigures } = await import("../../operations/figures/rebuild-figures.ts");
        return rebuildFigures({ db, timers }, org_id, told);
      },
    },
    secrets: instanceSecrets(opened),
    database: {
      source,
      inspect: async () => ({ ...(await inspectDatabase(connection)), node_sessions_max }),
      inspectReplicas: async () =>
        (await import("../../store/upkeep/inspect-replicas.ts")).inspectReplicas(connection, replicas),
      async export(output, primary = false) {
        const { exportFrom } = await import("../../store/upkeep/export-source.ts");
        return exportFrom(connection, primary ? [] : replicas, output, log);
      },
      restore: async (dump) => (await import("../../store/upkeep/export.ts")).restoreDump(connection, dump, log),
      distribute: async (tell) => (await import("../../store/upkeep/distribute.ts")).distribute(connection, tell),
      isFailure: (error) => isConnectionLost(error) || isOutOfTime(error),
    },
    close: opened.close,
  };
}
