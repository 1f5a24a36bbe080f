/** Lets only one process at a time use a data directory. */
import { randomBytes } from "node:crypto";
import { readdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { makeDirectory } from "../database/data-directory.ts";
import { StartRefused } from "../database/start-refused.ts";
import { isAlive, startedAt } from "./processes.ts";

/** Another live process holds the data directory. */
export class DirectoryHeld extends StartRefused {}

/** The right to use a data directory. */
export interface Claim {
  release(): Promise<void>;
}

interface Holder extends Partial<Place> {
  readonly pid: number;
  readonly started: string | null;
}

/** Where a claim was written. A copy of a directory contains the claim of a process that works in the original. */
interface Place {
  readonly path: string;
  readonly file: string;
}

const tries_max = 10;

/**
 * Takes the data directory for this process. Throws `DirectoryHeld` naming the holder if another live process has it.
 *
 * Each process writes a claim file with its own name, then reads the others. A claim of a dead process is removed. A
 * process is also dead if its number now belongs to a process with another start time. A claim that was copied from
 * another directory is removed, too. If a live process has a claim, this one removes its own. Since all processes write
 * before they read, two can never both keep the directory. If both give up, a random pause decides.
 *
 * A single lock file cannot be taken over from a dead holder without a race. Between "it is stale" and "remove it"
 * another start may have replaced it.
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

/**
 * Both path and file must differ. A moved directory keeps its file number, and a directory on a disk without stable
 * file numbers keeps its path.
 */
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

/** Returns null for a file that a power cut left empty or cut off, because its name was written before its contents. */
function parse(text: string): Holder | null {
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return null;
  }
}
