/** Operations of commands that need no open database. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Pack } from "@countersign/contract";
import { console_dir } from "../../paths.ts";
import type { KeyRing } from "../../ports.ts";
import { StartRefused } from "../../store/database/start-refused.ts";
import type { Config } from "../start/config.ts";
import * as masterKey from "../start/master-key.ts";
import { createSealer, masterKeyId } from "../start/sealer.ts";

type KeySettings = Pick<Config, "master_key" | "other_master_keys" | "data_dir">;

type NoKey =
  | { readonly outcome: "missing"; readonly reason: string }
  | { readonly outcome: "refused"; readonly reason: string };

/** Reads the master keys. Never creates one. */
export async function openKeyRing(config: KeySettings): Promise<{ outcome: "opened"; ring: KeyRing } | NoKey> {
  return orNoKey(async () => {
    const { master_key, other_master_keys } = await masterKey.readMasterKeys(config);
    return { outcome: "opened", ring: createSealer(master_key, other_master_keys) };
  });
}

type Replaced =
  | { readonly outcome: "replaced"; readonly key_id: string; readonly other_key_ids: readonly string[] }
  /** With `DATABASE_URL` the caller must say `stopped`, because only the operator knows whether the service runs. */
  | { readonly outcome: "perhaps_running" }
  | { readonly outcome: "running" }
  | NoKey;

/**
 * Writes a new master key into the data directory, and keeps the former key with the others. The service must be
 * stopped.
 */
export async function replaceMasterKeyFile(
  config: KeySettings & Pick<Config, "database_url">,
  stopped: boolean,
): Promise<Replaced> {
  if (config.master_key === null && !stopped) {
    if (config.database_url !== null) return { outcome: "perhaps_running" };
    const { attachEmbedded } = await import("../../store/embedded-postgres/attach.ts");
    if ((await attachEmbedded(config.data_dir)) !== null) return { outcome: "running" };
  }
  return orNoKey(async () => {
    const { master_key, other_master_keys } = await masterKey.replaceMasterKeyFile(config);
    return { outcome: "replaced", key_id: masterKeyId(master_key), other_key_ids: other_master_keys.map(masterKeyId) };
  });
}

async function orNoKey<T>(work: () => Promise<T>): Promise<T | NoKey> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return { outcome: error instanceof masterKey.MasterKeyMissing ? "missing" : "refused", reason: error.message };
  }
}

export async function readPacks(): Promise<Pack[]> {
  const { loadPacks } = await import("../start/pack-files.ts");
  const { listPacks } = await import("../../operations/policies/read-packs.ts");
  return listPacks((await loadPacks()).packs, { limit: Number.MAX_SAFE_INTEGER }).packs;
}

/** Returns the PostgreSQL of a first start: packaged, else the system's. Undefined: none. */
export async function findPostgres({ path }: Pick<Config, "path">) {
  const { packagedBinaries, systemBinaries } = await import("../../store/embedded-postgres/binaries.ts");
  return (await packagedBinaries({})) ?? (await systemBinaries({ path }))[0];
}

/** Returns the page that verifies receipts, as the service serves it at /verify.html. Null: this installation has no built console. */
export async function readVerifyPage(): Promise<Uint8Array | null> {
  try {
    return await readFile(join(console_dir, "verify.html"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
