/** The key that seals webhook secrets and TOTP seeds. */
import { randomBytes } from "node:crypto";
import { link, mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { StartRefused } from "../store/start-refused.ts";

const key_bytes = 32;

/**
 * The given key, else the one in `<data_dir>/master.key`, made there on the first start: base64 in a file that only its
 * owner reads (0600). It is complete on disk before anything can be sealed with it, and two starts at once end up with
 * the same one. Throws `StartRefused` when the file holds no key or others can read it.
 */
export async function openMasterKey(config: {
  readonly master_key: Buffer | null;
  readonly data_dir: string;
}): Promise<Buffer> {
  if (config.master_key !== null) return config.master_key;
  await mkdir(config.data_dir, { recursive: true, mode: 0o700 });
  const file = join(config.data_dir, "master.key");
  return (await readKey(file)) ?? (await makeKey(file)) ?? openMasterKey(config);
}

async function readKey(file: string): Promise<Buffer | null> {
  const handle = await open(file, "r").catch((error) => {
    if (error.code === "ENOENT") return null;
    throw new StartRefused(
      `${file} cannot be read (${error.code}): start as the user who owns it, or set COUNTERSIGN_MASTER_KEY`,
    );
  });
  if (handle === null) return null;
  try {
    const { mode } = await handle.stat();
    if ((mode & 0o077) !== 0) throw new StartRefused(`${file} can be read by other users: chmod 600 it`);
    const text = (await handle.readFile("utf8")).trim();
    const key = Buffer.from(text, "base64");
    if (key.length === key_bytes && key.toString("base64") === text) return key;
    throw new StartRefused(
      `${file} does not hold ${key_bytes} bytes in base64: put the right key back; what was sealed with another one cannot be opened`,
    );
  } finally {
    await handle.close();
  }
}

/** Null when another process was faster. */
async function makeKey(file: string): Promise<Buffer | null> {
  const key = randomBytes(key_bytes);
  const unfinished = `${file}.${process.pid}.${randomBytes(4).toString("hex")}`;
  const handle = await open(unfinished, "wx", 0o600);
  try {
    await handle.writeFile(`${key.toString("base64")}\n`);
    await handle.sync();
    await handle.close();
    // A link, not a rename: it never replaces a key that is there already.
    await link(unfinished, file);
    return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return null;
    throw error;
  } finally {
    await rm(unfinished, { force: true });
  }
}
