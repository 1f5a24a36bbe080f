import { randomBytes } from "node:crypto";
import { readdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { makeDirectory } from "../database/data-directory.ts";
import { StartRefused } from "../database/start-refused.ts";
import { isAlive, startedAt } from "./processes.ts";

export class DirectoryHeld extends StartRefused {}

export interface Claim {
  release(): Promise<void>;
}

interface Holder extends Partial<Place> {
  readonly pid: number;
  readonly started: string | null;
}

/** A copied directory contains claims of the original. */
interface Place {
  readonly path: string;
  readonly file: string;
}

const tries_max = 10;

/**
 * Takes the data directory for this process. Throws `DirectoryHeld` if another live process has it.
 *
 * Each process writes a claim file, then reads the others. It removes claims of dead processes (no such pid, or another
 * start time) and claims copied from another directory. If a live process has a claim, it removes its own. All write
 * before they read, so two never both keep the directory. If both give up, a random pause decides. A single lock file
 * could not be taken over from a dead holder without a race.
 */
export async function claim(data_dir: string): Promise<Claim> {
  const dir = join(data_dir, "claims");
  await makeDirectory(dir);
  const name = `${process.pid}-${randomBytes(6).toString("hex")}`;
  const mine = join(dir, name);
  const place = await placeOf(dir);
  const text = JSON.stringify({ pid: process.pid, started: await startedAt(process.pid), ...place } satisfies Holder);
  for (let tries = 1; ; tries += 1) {
    try {
      await writeFile(`${mine}.new`, text, { mode: 0o600 });
      await rename(`${mine}.new`, mine);
    } catch (error) {
      await rm(`${mine}.new`, { force: true });
      throw error;
    }
    const holder = await otherHolder(dir, name, place);
    if (holder === null) return { release: () => rm(mine, { force: true }) };
    await rm(mine, { force: true });
    if (tries === tries_max) {
      throw new DirectoryHeld(
        `the data directory ${data_dir} is in use by process ${holder.pid}: stop it, or set COUNTERSIGN_DATA_DIR to another directory`,
      );
    }
    await pause(10 + (randomBytes(1)[0] ?? 0) / 5);
  }
}

async function placeOf(dir: string): Promise<Place> {
  const { dev, ino } = await stat(dir, { bigint: true });
  return { path: await realpath(dir), file: `${dev}:${ino}` };
}

/** Both must differ: a moved directory keeps its file number, and some disks have no stable numbers. */
function isElsewhere(holder: Partial<Place>, { path, file }: Place): boolean {
  return holder.path !== undefined && holder.path !== path && holder.file !== file;
}

async function otherHolder(dir: string, mine: string, place: Place): Promise<Holder | null> {
  for (const name of await readdir(dir)) {
    if (name === mine || name.endsWith(".new")) continue;
    const text = await readFile(join(dir, name), "utf8").catch(() => null);
    if (text === null) continue;
    const holder = parse(text);
    const lives = holder !== null && (await isAlive(holder.pid)) && (await startedAt(holder.pid)) === holder.started;
    if (lives && !isElsewhere(holder, place)) return holder;
    await rm(join(dir, name), { force: true });
  }
  return null;
}

/** A power cut may leave an incomplete file. */
function parse(text: string): Holder | null {
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return null;
  }
}
