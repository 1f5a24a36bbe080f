import { randomBytes } from "node:crypto";
import { link, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeDataDir } from "../../store/database/data-directory.ts";
import { StartRefused } from "../../store/database/start-refused.ts";

const key_bytes = 32;

interface OpenedKeys {
  readonly master_key: Buffer;
  readonly other_master_keys: readonly Buffer[];
}

interface MasterKeySettings {
  readonly master_key: Buffer | null;
  readonly other_master_keys: readonly Buffer[];
  readonly data_dir: string;
}

const keyFile = (data_dir: string) => join(data_dir, "master.key");
const othersFile = (data_dir: string) => join(data_dir, "master-others.keys");

/**
 * Returns the given key, else that of `<data_dir>/master.key` (base64, mode 0600), which the first start creates. The
 * key is on disk before it seals anything. Two concurrent starts get the same key.
 */
async function openMasterKey(config: Pick<MasterKeySettings, "master_key" | "data_dir">): Promise<Buffer> {
  if (config.master_key !== null) return config.master_key;
  await makeDataDir(config.data_dir);
  const file = keyFile(config.data_dir);
  return (await readKey(file)) ?? (await makeKey(file)) ?? openMasterKey(config);
}

/**
 * The other keys are those of the setting and those in `<data_dir>/master-others.keys` (one a line). Throws
 * `StartRefused` if a file holds no key or others can read it.
 */
export async function openMasterKeys(config: MasterKeySettings): Promise<OpenedKeys> {
  return withOthers(config, await openMasterKey(config));
}

/** The caller knows what to do: after a restore, a new key would open nothing. */
export class MasterKeyMissing extends StartRefused {}

/** Never creates a key. Throws `StartRefused`, or `MasterKeyMissing` if there is no key. */
export async function readMasterKeys(config: MasterKeySettings): Promise<OpenedKeys> {
  const master_key = config.master_key ?? (await readKey(keyFile(config.data_dir)));
  if (master_key !== null) return withOthers(config, master_key);
  throw new MasterKeyMissing(
    `there is no master key: COUNTERSIGN_MASTER_KEY is not set, and there is no ${keyFile(config.data_dir)}`,
  );
}

/**
 * Writes a new key into `master.key`, after adding the former one to the others. An interruption loses no key. Throws
 * `StartRefused` if the master key is a setting.
 */
export async function replaceMasterKeyFile(config: MasterKeySettings): Promise<OpenedKeys> {
  if (config.master_key !== null) {
    throw new StartRefused(
      "the master key is a setting: set COUNTERSIGN_MASTER_KEY and COUNTERSIGN_OTHER_MASTER_KEYS (docs/how-to/master-key.md)",
    );
  }
  const { master_key: former } = await readMasterKeys(config);
  const others = await readOthers(config.data_dir);
  await writeKeys(othersFile(config.data_dir), distinct([former, ...others]));
  await writeKeys(keyFile(config.data_dir), [randomBytes(key_bytes)]);
  return readMasterKeys(config);
}

async function withOthers(config: MasterKeySettings, master_key: Buffer): Promise<OpenedKeys> {
  const others = distinct([...config.other_master_keys, ...(await readOthers(config.data_dir))]);
  return { master_key, other_master_keys: others.filter((key) => !key.equals(master_key)) };
}

function distinct(keys: readonly Buffer[]): Buffer[] {
  return keys.filter((key, n) => keys.findIndex((each) => each.equals(key)) === n);
}

async function readKey(file: string): Promise<Buffer | null> {
  const text = await readSecret(file);
  return text === null ? null : keyOf(text.trim(), file);
}

async function readOthers(data_dir: string): Promise<Buffer[]> {
  const file = othersFile(data_dir);
  const lines = ((await readSecret(file)) ?? "").split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "").map((line) => keyOf(line, file));
}

function keyOf(text: string, file: string): Buffer {
  const key = Buffer.from(text, "base64");
  if (key.length === key_bytes && key.toString("base64") === text) return key;
  throw new StartRefused(
    `${file} does not hold ${key_bytes} bytes in base64: put the right key back, because another key cannot open the existing values`,
  );
}

/** Null: the file does not exist. */
async function readSecret(file: string): Promise<string | null> {
  const handle = await open(file, "r").catch((error) => {
    if (["ENOENT", "ENOTDIR"].includes(error.code)) return null;
    throw new StartRefused(
      `${file} cannot be read (${error.code}): start as the user who owns it, or set COUNTERSIGN_MASTER_KEY`,
    );
  });
  if (handle === null) return null;
  try {
    const { mode } = await handle.stat();
    if ((mode & 0o077) !== 0) throw new StartRefused(`${file} can be read by other users: chmod 600 it`);
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}

/** Null: another process was faster. */
async function makeKey(file: string): Promise<Buffer | null> {
  const key = randomBytes(key_bytes);
  const unfinished = await writeUnfinished(file, [key]);
  try {
    // A link, because it never replaces an existing key.
    await link(unfinished, file);
    return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return null;
    throw error;
  } finally {
    await rm(unfinished, { force: true });
  }
}

async function writeKeys(file: string, keys: readonly Buffer[]): Promise<void> {
  const unfinished = await writeUnfinished(file, keys);
  await rename(unfinished, file);
  const folder = await open(join(file, ".."), "r");
  await folder.sync().finally(() => folder.close());
}

async function writeUnfinished(file: string, keys: readonly Buffer[]): Promise<string> {
  const unfinished = `${file}.${process.pid}.${randomBytes(4).toString("hex")}`;
  const handle = await open(unfinished, "wx", 0o600);
  try {
    await handle.writeFile(keys.map((key) => `${key.toString("base64")}\n`).join(""));
    await handle.sync();
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
  return unfinished;
}
