/**
 * Vitest's global set-up: moves temporary files into memory if there is enough. On a disk, the tests' databases took 20
 * % of the CPU time.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const memory = "/dev/shm";
const prefix = "countersign-test-";

/** A run needs up to 0.5 GiB. 4 GiB leave room for other programs. */
const room_bytes = 4 * 2 ** 30;

let dir: string | undefined;

export function setup(): void {
  if (process.env["TMPDIR"] !== undefined || !hasRoom()) return;
  removeAbandoned();
  dir = mkdtempSync(join(memory, `${prefix}${process.pid}-`));
  if (!runsPrograms(dir)) {
    teardown();
    return;
  }
  // Same mode as /tmp, because a database server started by root runs as another user.
  chmodSync(dir, 0o1777);
  process.env["TMPDIR"] = dir;
}

export function teardown(): void {
  if (dir !== undefined) rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

function hasRoom(): boolean {
  if (!existsSync(memory)) return false;
  const { bavail, bsize } = statfsSync(memory);
  return Math.min(bavail * bsize, process.availableMemory()) >= room_bytes;
}

/** Returns false if the folder is mounted noexec, as in some containers. */
function runsPrograms(dir: string): boolean {
  const program = join(dir, "program");
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o700 });
  const { status } = spawnSync(program);
  rmSync(program);
  return status === 0;
}

/** Removes the folders of killed runs. Nothing else would free that memory. */
function removeAbandoned(): void {
  for (const name of readdirSync(memory).filter((each) => each.startsWith(prefix))) {
    const dir = join(memory, name);
    const pid = Number(name.slice(prefix.length).split("-")[0]);
    const isOurs = statSync(dir, { throwIfNoEntry: false })?.uid === process.getuid?.();
    if (isOurs && !existsSync(`/proc/${pid}`)) rmSync(dir, { recursive: true, force: true });
  }
}
